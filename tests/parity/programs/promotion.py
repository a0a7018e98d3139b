"""Mixed dtypes through operators, functions, in-place forms and reductions."""


def main(torch):
    names = ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
    dtypes = [getattr(torch, name) for name in names]
    results = []
    for a in dtypes:
        x = torch.tensor([1, 0, 1]).to(a)
        for b in dtypes:
            y = torch.tensor([1, 1, 0]).to(b)
            results.append((x * y, x == y))
            if (a, b) != (torch.float16, torch.complex64):  # a complex of two halves has no dtype here
                results.append(x + y.sum().to(b))
        if a != torch.float16:
            results.append(x + 1j)
        results += [x * 2, x * 2.5, 1 / (x + 1), x.sum(), x.prod(), x.cumsum(0), x**2, x.any(), x.exp()]
    print([[str(torch.promote_types(a, b)) for b in dtypes] for a in dtypes])
    print([[torch.can_cast(a, b) for b in dtypes] for a in dtypes])

    def in_place(dtype, value):
        def attempt():
            return torch.ones(2, dtype=dtype).mul_(value)

        return attempt

    for dtype in dtypes[1:]:
        results += [in_place(dtype, value) for value in (2, 2.5, torch.tensor([3.5, 1.0], dtype=torch.float64))]
        if dtype != torch.float16:
            results.append(in_place(dtype, 1j))
    whole = torch.tensor([7, -7])
    results += [whole // 2, whole % 3, whole / 2, whole.float() // 2, whole >> 1, whole & 3, -whole, abs(whole), ~whole]
    results += [lambda: -torch.tensor([True]), lambda: torch.tensor([True]) - torch.tensor([True])]
    results += [lambda: whole.mean(), lambda: whole // 0, lambda: whole**-1, lambda: torch.tensor([1.5]) & 1]
    return results
