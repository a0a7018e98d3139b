"""Buckets: small parameters side by side in one flat array, so that one pass updates them all; large ones in pieces.

The state of the parameters of a bucket lies in flat arrays too, and the tensors in `optimizer.state` are views of them.
Parameters and gradients stay where they are: each step gathers them, updates, and writes the parameters back. A large
parameter is a bucket of its own and is updated where it lies, in pieces that fit into the cache. Where loops can be compiled
and there is much to update, fused.py does all of it in one pass.
"""

import operator

import numpy as np

from tensorgrad.autograd.graph import tick
from tensorgrad.autograd.views import RECENT, alias_of
from tensorgrad.optim.vocabulary import OnArrays
from tensorgrad.tensor import Tensor, wrap

SMALL = 8192  # up to so many elements a parameter shares a bucket
PIECE = 32768  # elements updated at once
REAL = {"f": "f4", "d": "f8", "F": "f4", "D": "f8"}  # complex numbers are pairs of real ones here

array_of = operator.attrgetter("_array")
ndarray = np.ndarray


def fits(p, gradient):
    """Whether a parameter can be updated on its bare array; others are updated as Tensors, which says what is wrong."""
    array = p._array
    return (
        type(array) is ndarray
        and type(gradient) is ndarray
        and array.dtype.char in REAL
        and gradient.dtype == array.dtype
        and gradient.shape == array.shape
        and array.flags.writeable
        and not (array.size > 1 and 0 in array.strides)
    )


class Members:
    """Some parameters of one group that are at the same point of their life, and their state in flat memory."""

    def __init__(self, params, states, buffers, scalars, fresh):
        self.params, self.fresh, self.buffers, self.names = params, fresh, buffers, tuple(scalars)
        self.arrays = list(map(array_of, params))
        lone = self.arrays[0]
        dtype = np.dtype(REAL[lone.dtype.char])
        self.ends = ends = np.cumsum([0, *[a.size for a in self.arrays]])
        size = ends[-1]
        self.states, self.tensors, self.flats = states, [], []
        for name in buffers:
            flat = np.empty(size, lone.dtype)
            for p, state, i, j in zip(params, states, ends[:-1], ends[1:]):
                place = flat[i:j].reshape(p._spec.shape)
                np.copyto(place, state[name]._array)
                self.adopt(state, name, place)
            self.flats.append(flat.view(dtype))
        self.scalars = {}
        for name, kind in scalars.items():
            flat = self.scalars[name] = np.empty(len(params), kind)
            for i, state in enumerate(states):
                flat[i] = state[name].item()
                self.adopt(state, name, flat[i : i + 1].reshape(()))
        self.state_arrays = list(map(array_of, self.tensors))

    def adopt(self, state, name, place):
        """Let a state tensor lie in flat memory. One that shares its memory with others is replaced by a new one."""
        tensor = state[name]
        if type(tensor) is Tensor and tensor._alias is None and tensor._array.dtype == place.dtype:
            tensor._array = place
        else:
            tensor = state[name] = wrap(place)
        self.tensors.append(tensor)

    def intact(self):
        """Whether parameters and state still lie where this bucket has them."""
        names = (*self.buffers, *self.names)
        found = [state.get(name) for name in names for state in self.states]
        return (
            all(map(operator.is_, found, self.tensors))
            and all(map(operator.is_, map(array_of, self.tensors), self.state_arrays))
            and all(map(operator.is_, map(array_of, self.params), self.arrays))
        )

    def read(self):
        """The scalars of the state as numbers by name, or None if they are not the same for all parameters."""
        now = {}
        for name, flat in self.scalars.items():
            values = flat.tolist()
            first = now[name] = values[0]
            if values.count(first) != len(values):
                return None
        return now

    def bump(self, times):
        """Count the update in the versions of the parameters."""
        now = tick()  # of all at once
        for p in self.params:
            version = (p._alias or alias_of(p)).version
            recent = version.recent
            if recent is None or times != 1 or len(recent) >= RECENT:
                for _ in range(times):
                    version.bump()
            else:
                version.count += 1
                version.changed = now
                recent.append(now)
        for tensor in self.tensors:
            if tensor._alias is not None:
                tensor._alias.version.bump()


class Bucket(Members):
    """Parameters that are updated on arrays: gathered in flat memory, or one where it lies."""

    def __init__(self, params, states, buffers, scalars, fresh):
        super().__init__(params, states, buffers, scalars, fresh)
        lone, ends = self.arrays[0], self.ends
        dtype, size = np.dtype(REAL[lone.dtype.char]), ends[-1]
        self.whole = lone.reshape(-1).view(dtype) if len(params) == 1 and lone.flags.c_contiguous else None
        self.p = np.empty(size, lone.dtype) if self.whole is None else None
        self.g = np.empty(size, lone.dtype) if self.whole is None else None
        self.back = [
            (a, self.p[i:j].reshape(a.shape)) for a, i, j in zip(self.arrays, ends[:-1], ends[1:])
        ] if self.whole is None else ()  # fmt: skip
        self.real = (self.p.view(dtype), self.g.view(dtype)) if self.whole is None else None
        numbers = size * (2 if lone.dtype.kind == "c" else 1)
        self.pieces = []
        words = OnArrays(min(PIECE, numbers), dtype)
        p = self.whole if self.whole is not None else self.real[0]
        for i in range(0, numbers, PIECE):
            part = slice(i, min(i + PIECE, numbers))
            if part.stop - i != words.size:
                words = OnArrays(part.stop - i, dtype)
            self.pieces.append((words, part, p[part], [flat[part] for flat in self.flats]))

    def run(self, gradients, update, options):
        """One update, with the gradients in the order of the parameters."""
        if self.whole is not None:
            g = gradients[0].reshape(-1)
            if g.dtype.kind == "c":
                g = g.view(self.whole.dtype)
        else:
            np.concatenate(self.arrays, None, self.p)
            np.concatenate(gradients, None, self.g)
            g = self.real[1]
        if len(self.pieces) == 1:
            words, _, p, flats = self.pieces[0]
            update(words.start(), p, g, flats, options)
        else:
            for words, part, p, flats in self.pieces:
                update(words.start(), p, g[part], flats, options)
        copyto = np.copyto
        for array, place in self.back:
            copyto(array, place)
