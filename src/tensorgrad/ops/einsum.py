"""einsum: sums of products by an equation of index letters.

Several operands are contracted two at a time, the cheapest pair first. A contraction of two is one product of (batches of)
matrices; its gradients are contractions too.
"""

import functools

import numpy as np

from tensorgrad.ops import fitting
from tensorgrad.ops.matmul import count, is_half, product
from tensorgrad.ops.primitive import Primitive

PUBLIC = {"": "einsum"}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
NONE = "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"

_einsum = Primitive(
    "einsum", lambda arrays, equation: _kernel(arrays, equation), arity=None, on_tensors=True, multilinear=True,
    pullback=lambda g, wanted, rest, equation: _back(g, wanted, rest, equation), params=("equation",), rest_from=0,
)  # fmt: skip


def _kernel(arrays, equation):
    dtype = arrays[0].dtype
    if is_half(dtype):
        return _kernel([a.astype(np.float32) for a in arrays], equation).astype(dtype)
    plan = _plan(equation) if len(arrays) == 2 else None
    if plan is None:
        out = np.einsum(equation, *arrays)
        return out if out.flags.writeable and out.flags.owndata else np.array(out)
    return plan(*arrays)


@functools.lru_cache(1024)
def _plan(equation):
    """How two operands are multiplied as batches of matrices: a function of two arrays, None where a letter is repeated."""
    inputs, output = equation.split("->")
    one, other = inputs.split(",")
    if len(set(one)) < len(one) or len(set(other)) < len(other):
        return None
    alone = [tuple(i for i, c in enumerate(one) if c not in other and c not in output),
             tuple(i for i, c in enumerate(other) if c not in one and c not in output)]  # fmt: skip
    one = "".join(c for c in one if c in other or c in output)
    other = "".join(c for c in other if c in one or c in output)
    batch = [c for c in output if c in one and c in other]
    inner = [c for c in one if c in other and c not in output]
    left, right = [c for c in output if c not in other], [c for c in output if c not in one]
    first = tuple(one.index(c) for c in (*batch, *left, *inner))
    second = tuple(other.index(c) for c in (*batch, *inner, *right))
    made, turned = [*batch, *left, *right], [*batch, *right, *left]
    final, final_turned = (tuple(order.index(c) for c in output) for order in (made, turned))
    b, n, k, identity = len(batch), len(left), len(inner), tuple(range(len(made)))

    def turns(shape):
        """Whether the product the other way round lies in memory as the output does, and this way it does not."""
        size = dict(zip(made, shape, strict=True))
        wanted, *orders = ([c for c in order if size[c] != 1] for order in (output, made, turned))
        return orders[0] != wanted == orders[1]

    def multiply(x, y):
        if alone[0]:
            x = np.add.reduce(x, alone[0], dtype=x.dtype)
        if alone[1]:
            y = np.add.reduce(y, alone[1], dtype=y.dtype)
        x, y = x.transpose(first), y.transpose(second)
        lead, rows, columns = x.shape[:b], x.shape[b : b + n], y.shape[b + k :]
        if not k:  # nothing to sum
            x = x.reshape((*lead, *rows, *(1,) * len(columns)))
            out = x * y.reshape((*lead, *(1,) * n, *columns))
        else:
            middle, size = count(y.shape[b : b + k]), (count(lead),) if b else ()
            x, y = x.reshape(*size, count(rows), middle), y.reshape(*size, middle, count(columns))
            if final != identity and turns((*lead, *rows, *columns)):
                out = product(y.swapaxes(-1, -2), x.swapaxes(-1, -2))
                return out.reshape((*lead, *columns, *rows)).transpose(final_turned)
            out = product(x, y).reshape((*lead, *rows, *columns))
        return out.transpose(final)

    return multiply


def _back(g, wanted, operands, equation):
    """Each operand's gradient is a contraction of g with the other operands."""
    inputs, output = equation.split("->")
    terms, gradients = inputs.split(","), []
    for i, want in enumerate(wanted):
        if not want:
            gradients.append(None)
            continue
        others = [t for j, t in enumerate(terms) if j != i]
        known = set(output) | set("".join(others))
        target = "".join(c for c in dict.fromkeys(terms[i]) if c in known)
        part = _einsum(
            (g, *(x.conj() for j, x in enumerate(operands) if j != i)), ",".join([output, *others]) + "->" + target
        )
        gradients.append(_spread(part, target, terms[i], operands[i].shape))
    return tuple(gradients)


def _spread(part, have, term, shape):
    """Put back the indices that were summed away, and the diagonals of repeated ones."""
    unique = "".join(dict.fromkeys(term))
    sizes = {c: n for c, n in zip(term, shape, strict=True)}
    view = part
    for position, c in enumerate(unique):
        if c not in have:
            view = view.unsqueeze(position)
    view = view.expand([sizes[c] for c in unique])
    if unique == term:
        return view
    whole = view.new_zeros(shape)
    inside, labels = whole, list(term)
    for c in unique:
        while labels.count(c) > 1:
            first = labels.index(c)
            second = labels.index(c, first + 1)
            inside = inside.diagonal(0, first, second)
            labels = [x for i, x in enumerate(labels) if i not in (first, second)] + [c]
    inside.copy_(view.permute([unique.index(c) for c in labels]))
    return whole


def einsum(*args):
    """The sum of products that an equation of index letters describes.

    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])

    Three dots stand for any number of dimensions, which broadcast; without `->` the letters that occur once remain, in
    the order of the alphabet. Instead of an equation, lists of index numbers may follow the operands:

    >>> torch.einsum(torch.ones(2, 3), [0, 1], torch.ones(3), [1], [0])
    tensor([3., 3.])
    """
    if len(args) < 2:
        raise ValueError(NONE)
    equation, *operands = args
    if isinstance(equation, fitting.Tensor):
        equation, operands = _sublists(args)
    elif not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {fitting.kind_name(equation)}")
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = operands[0]
    if not operands:
        raise ValueError(NONE)
    for position, x in enumerate(operands):
        fitting.check_tensor("einsum", x, "operands", position + 2)
    for x in operands[1:]:
        if x._spec.dtype is not operands[0]._spec.dtype:
            raise RuntimeError(
                f"expected scalar type {operands[0]._spec.dtype.title} but found {x._spec.dtype.title}\n"
                "The operands of einsum have one dtype: convert them with .to(dtype)."
            )
    terms, output = _spelled(equation, operands)
    return _contract(terms, output, operands)


def _sublists(args):
    """(equation, operands) of operands that alternate with lists of index numbers."""

    def spell(row):
        letters = []
        for i in row:
            if i is Ellipsis:
                letters.append("...")
                continue
            if not 0 <= i < 52:
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
            letters.append(LETTERS[i])
        return "".join(letters)

    pairs = len(args) // 2
    final = "->" + spell(args[-1]) if len(args) % 2 else ""
    return ",".join(spell(args[2 * i + 1]) for i in range(pairs)) + final, args[: 2 * pairs : 2]


def _spelled(equation, operands):
    """The terms and the output without spaces, with letters for `...`; PyTorch's errors for what is wrong."""
    text = equation.replace(" ", "")
    left, arrow, output = text.partition("->")
    terms = left.split(",")
    for place, c in enumerate(equation):
        if not (c.isalpha() and c.isascii()) and c not in " ,.->":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {place} in the equation string, subscripts must be in [a-zA-Z]"
            )
    for position, term in enumerate([*terms, output]):
        if "." in term.replace("...", "", 1):
            where = f"operand {position}" if position < len(terms) else "the output"
            raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
    if len(terms) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(terms) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    free = [c for c in LETTERS[::-1] if c not in text]
    widest = 0
    for position, (term, x) in enumerate(zip(terms, operands, strict=True)):
        named = len(term.replace("...", ""))
        if "..." in term:
            if named > len(x.shape):
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
                    f"({len(x.shape)}) for operand {position}"
                )
            widest = max(widest, len(x.shape) - named)
        elif named != len(x.shape):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                f"({len(x.shape)}) for operand {position} and no ellipsis was given"
            )
    dots = "".join(free[:widest])
    spelled = []
    for term, x in zip(terms, operands, strict=True):
        missing = len(x.shape) - len(term.replace("...", ""))
        spelled.append(term.replace("...", dots[widest - missing :] if missing else ""))
    if not arrow:
        letters = "".join(terms).replace("...", "")
        output = "..." * bool(widest) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    output = output.replace("...", dots)
    known = "".join(spelled)
    for c in output:
        if c not in known:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
        if output.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
    return spelled, output


def _contract(terms, output, operands):
    """Contract operands, two at a time, until one is left that is the output."""
    sizes = {}
    for position, (term, x) in enumerate(zip(terms, operands, strict=True)):
        for c, n in zip(term, x.shape, strict=True):
            first = x.shape[term.index(c)]
            if first != n:
                raise RuntimeError(
                    f"einsum(): subscript {c} is repeated for operand {position} but the sizes don't match, {n} != {first}"
                )
            if sizes.setdefault(c, n) != n and 1 not in (n, sizes[c]):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for operand {position} which does not broadcast with previously "
                    f"seen size {sizes[c]}"
                )
            sizes[c] = n if sizes[c] == 1 else sizes[c]
    terms, operands = list(terms), list(operands)
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):  # what broadcasts is left to those who have it
        thin = [d for d, c in enumerate(term) if x.shape[d] == 1 and sizes[c] != 1]
        if thin:
            operands[i], terms[i] = x.squeeze(thin), "".join(c for d, c in enumerate(term) if d not in thin)
    while len(operands) > 2:
        i, j = _cheapest(terms, output, sizes)
        rest = "".join(t for k, t in enumerate(terms) if k not in (i, j)) + output
        keep = "".join(c for c in dict.fromkeys(terms[i] + terms[j]) if c in rest)
        made = _einsum((operands[i], operands[j]), f"{terms[i]},{terms[j]}->{keep}")
        for place in sorted((i, j), reverse=True):
            del terms[place], operands[place]
        terms.append(keep)
        operands.append(made)
    if len(operands) == 1:
        view = _as_view(terms[0], output, operands[0])
        if view is not None:
            return view
    return _einsum(tuple(operands), ",".join(terms) + "->" + output)


def _as_view(term, output, x):
    """One operand of which nothing is summed: a view of it, as in PyTorch."""
    if set(term) != set(output):
        return None
    labels = list(term)
    for c in dict.fromkeys(term):
        while labels.count(c) > 1:
            first = labels.index(c)
            second = labels.index(c, first + 1)
            x = x.diagonal(0, first, second)
            labels = [l for i, l in enumerate(labels) if i not in (first, second)] + [c]
    return x.permute([labels.index(c) for c in output])


def _cheapest(terms, output, sizes):
    """The pair whose contraction leaves least behind, and of equals the one that costs least."""
    best = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            rest = "".join(t for k, t in enumerate(terms) if k not in (i, j)) + output
            both = set(terms[i]) | set(terms[j])
            size = lambda letters: count(sizes[c] for c in letters)
            cost = size(both & set(rest)) - size(set(terms[i])) - size(set(terms[j])), size(both)
            if best is None or cost < best[0]:
                best = cost, (i, j)
    return best[1]
