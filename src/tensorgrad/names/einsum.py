"""einsum with names: subscripts carry the names of their dimensions, and the equation may be written in names itself.

>>> state, step = torch.ones(9, 5, names=("batch", "D")), torch.ones(5, 4, names=("D", "out"))
>>> torch.einsum("bd,do->bo", state, step).names
('batch', 'out')
>>> torch.einsum("batch D, D out -> out batch", state, step).shape
tensorgrad.Size([4, 9])
"""

import inspect
import re

from tensorgrad.names.dispatch import Stripped, call_named
from tensorgrad.names.rules import resolved
from tensorgrad.names.rules_products import tensordot as contracted
from tensorgrad.names.values import check_distinct, check_name, names_of, one, shown
from tensorgrad.ops.einsum import _spelled, _sublists
from tensorgrad.tensor import Tensor

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(function, *args):
    """The contraction that an equation tells, with the names of the dimensions that are left."""
    if not args:
        return function(*args)
    if isinstance(args[0], Tensor):
        args = _sublists(args)
        args = (args[0], *args[1])
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    names = {}
    if in_words(equation, operands):
        equation, names = spelled_out(equation, operands)
    terms, output = _spelled(equation, operands)
    for position, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        for letter, name in zip(term, names_of(operand), strict=True):
            known = names.get(letter)
            if known is not None and name is not None and known != name and letter in output:  # as in a @ b
                raise RuntimeError(
                    f"einsum(): dim {one(name)} of operand {position}, Tensor{shown(names_of(operand))}, does not match dim "
                    f"{one(known)} under the same subscript"
                )
            names[letter] = known or name
    result = tuple(names.get(letter) for letter in output)
    check_distinct(result)
    stripped = Stripped()
    return stripped.restored(function(equation, *map(stripped.of, operands)), result)


def tensordot(function, a, b, dims=2, out=None):
    """tensordot whose dimensions are told by name: those of each operand by its own names."""
    if not isinstance(dims, int) and not isinstance(dims, Tensor):
        sides = [(side,) if isinstance(side, (int, str)) else side for side in dims]
        dims = [resolved(list(side), names_of(t)) for side, t in zip(sides, (a, b), strict=True)]
    words = {} if out is None else {"out": out}
    return call_named(function, "tensordot", contracted, inspect.signature(function), (a, b, dims), words)


def words_of(term):
    return term.replace("...", " ... ").split()


def in_words(equation, operands):
    """Whether an equation is written in names: a word, not a letter, for each dimension."""
    terms = equation.partition("->")[0].split(",")
    if len(terms) != len(operands):
        return False
    ranks = [len(t._spec.shape) for t in operands]
    letters = [re.sub(r"\s|\.\.\.", "", term) for term in terms]
    if all(len(found) == rank or ("..." in t and len(found) <= rank)
           for found, rank, t in zip(letters, ranks, terms, strict=True)):  # fmt: skip
        return False
    words = [[w for w in words_of(term) if w != "..."] for term in terms]
    return all(len(w) == n or ("..." in t and len(w) <= n) for w, n, t in zip(words, ranks, terms, strict=True))


def spelled_out(equation, operands):
    """The equation in letters, and the name of each; an operand all of whose names are told is lined up by them."""
    left, arrow, output = equation.partition("->")
    letters, terms = {}, []

    def letter(word):
        if word == "...":
            return word
        if word not in letters:
            letters[check_name(word)] = LETTERS[len(letters)]
        return letters[word]

    for term, operand in zip(left.split(","), operands, strict=True):
        words, own = words_of(term), names_of(operand)
        by_name = sorted(words) == sorted(own, key=str) if None not in own else False
        terms.append("".join(map(letter, own if by_name else words)))
    final = words_of(output)
    if not arrow:
        told = [w for term in left.split(",") for w in words_of(term)]
        final = [w for w in dict.fromkeys(told) if told.count(w) == 1 or w == "..."]
    for word in final:
        if word != "..." and word not in letters:
            raise RuntimeError(
                f"einsum(): output subscript {word} does not appear in the equation for any input operand"
            )
    return ",".join(terms) + "->" + "".join(map(letter, final)), {c: word for word, c in letters.items()}
