"""What tensors print, in many shapes, dtypes and states."""


def main(torch):
    x = torch.tensor([[1.0, -2.5], [1000.0, 0.001]])
    leaf = torch.tensor([1.5, 2.0], requires_grad=True)
    shown = [
        x,
        x * 1e5,
        x / 1e5,
        x.long(),
        x > 0,
        x.double(),
        x.half(),
        x.bfloat16(),
        torch.complex(x, -x),
        torch.tensor(3),
        torch.tensor(3.14159),
        torch.tensor([]),
        torch.zeros(0, 3),
        torch.zeros(2, 0, dtype=torch.int32),
        torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),
        torch.tensor([1e-10, 1.0]),
        torch.tensor([1e10, 1.0]),
        torch.arange(2000),
        torch.arange(2000.0).reshape(50, 40),
        torch.arange(5000.0).reshape(10, 10, 50) / 7,
        torch.zeros(2, 2, 2),
        leaf,
        leaf * 2,
        (leaf * 2).sum(),
        leaf.double() + 1,
        leaf[0],
        leaf.detach(),
        torch.tensor([True]),
        torch.tensor([1 + 2j, 3.5j]),
        torch.tensor(1, dtype=torch.uint8),
        torch.ones(3, dtype=torch.int8).expand(2, 3),
    ]
    for tensor in shown:
        print(tensor)
        print([tensor])
    torch.set_printoptions(precision=2, sci_mode=False, linewidth=40)
    try:
        print(torch.arange(20.0) / 3)
    finally:
        torch.set_printoptions(profile="default")
    print(f"{torch.tensor(2.5):.3f} {torch.tensor(7)} {x.shape} {x.dtype} {x.device}")
    return [str(tensor.shape) for tensor in shown]
