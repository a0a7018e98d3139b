"""Convolution over one, two or three dimensions, and its two adjoints, on arrays.

Each window of x becomes a column of a matrix, and the convolution one matrix product per panel of columns; a panel is
a few megabytes, so it is still in the cache when BLAS reads it, and the whole patch matrix never exists.
Where the stride is 1 a panel is laid out *flat*: for each place in the kernel the padded samples are copied from an
offset on, in one run, border columns included; their results are cut off afterwards. That copies twice as fast as
window by window (0.13 against 0.27 ns a number at width 28, 0.87 at width 7) and wastes width_padded/width - 1 of the
product, so the cheaper of the two is chosen. With llvmlite none of this is used but compiled kernels (kernels/direct.py,
and kernels/winograd.py for 3 x 3). Measured and slower in NumPy: a sum of one product per kernel place on
shifted views (no copies, but the partial sums cost more), einsum, and Winograd's transforms (the arithmetic saved goes
into moving tiles, and a digit of accuracy is lost).

Nothing here conjugates: the adjoints are transposes, and callers with complex numbers pass conjugates.
`stride`, `padding` and `dilation` are tuples with a number per dimension.
"""

import functools
import itertools
import math

import numpy as np

from tensorgrad.backends import native
from tensorgrad.backends.precision import computes_halves_in_single

PANEL_BYTES = 4 << 20  # what a panel of patches may take: 1 to 8 MB measured alike
COPY_COST, RUN_COST, MULTIPLY_COST = 0.13, 5.3, 0.012  # ns: a number copied, a run of them started, a multiply-add
NATIVE_FROM = 1 << 12  # multiply-adds from which the compiled kernel's start (20 us) is less than NumPy's steps


def convolution_size(size, kernel, stride, padding, dilation):
    """The spatial sizes of a convolution's result.

    >>> convolution_size((28, 28), (3, 3), (2, 2), (1, 1), (1, 1))
    (14, 14)
    """
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)
    )


@computes_halves_in_single
def convolution(x, w, stride, padding, dilation, groups=1, bias=None, size=None):
    """Slide the kernels w (out, in/groups, *kernel) over x (batch, in, *size); `size` overrides the result's sizes.

    Positions outside x count as zero on both sides, so `size` also says how far to go past its end.

    >>> convolution(np.array([[[1.0, 2, 3, 4]]]), np.array([[[1.0, 10]]]), (1,), (0,), (1,))
    array([[[21., 32., 43.]]])
    """
    samples, channels = x.shape[:2]
    outputs, _, *kernel = w.shape
    if size is None:
        size = convolution_size(x.shape[2:], kernel, stride, padding, dilation)
    out = np.empty((samples, outputs, *size), x.dtype)
    if out.size and _is_pointwise(x, kernel, stride, padding, size):
        weights = np.ascontiguousarray(w).reshape(groups, outputs // groups, math.prod(w.shape[1:]))
        columns = x.reshape(samples, groups, channels // groups, -1)
        np.matmul(weights, columns, out=out.reshape(samples, groups, outputs // groups, -1))
        if bias is not None:
            out += bias.reshape(-1, *[1] * len(size))
        return out
    if _is_native(x, w, out.size, w.shape):
        tiles = native.module("winograd")
        if tiles.suits(samples, w.shape, stride, dilation, groups, size) and tiles.convolution(
            x, w, padding, groups, bias, size, out
        ):
            return out
        return native.module("direct").convolution(x, w, stride, padding, dilation, groups, bias, tuple(size), out)
    weights = np.ascontiguousarray(w).reshape(groups, outputs // groups, math.prod(w.shape[1:]))
    plan = _plan(x.shape[1:], tuple(kernel), stride, padding, dilation, size, x.itemsize, w.nbytes, outputs // groups)
    if bias is not None:
        bias = bias.reshape(-1, *[1] * len(size))
    for first, count, row, rows, columns in _panels(x, plan):
        target = out[first : first + count, :, row : row + rows]
        columns = columns.reshape(groups, weights.shape[2], -1)
        if count == 1 and not plan.flat:
            np.matmul(weights, columns, out=target.reshape(groups, outputs // groups, -1))
            if bias is not None:
                target += bias
            continue
        product = np.matmul(weights, columns).reshape(outputs, count, rows, *plan.row_shape)
        product = product[..., : size[-1]].swapaxes(0, 1)
        if bias is None:
            target[...] = product
        else:
            np.add(product, bias, out=target)
    return out


@computes_halves_in_single
def convolution_input_gradient(g, w, x_shape, stride, padding, dilation, groups=1):
    """Transpose of `convolution` in x: spread g (batch, out, *size) over an array of x_shape.

    >>> convolution_input_gradient(np.ones((1, 1, 3)), np.array([[[1.0, 10]]]), (1, 1, 4), (1,), (0,), (1,))
    array([[[ 1., 11., 11., 10.]]])
    """
    outputs, channels, taps = w.shape[0], x_shape[1], math.prod(w.shape[2:])
    # gathering reads each number of g once a tap, spreading touches each of x so, in more and slower steps
    if outputs <= 2 * channels or g.size * taps < 1 << 17 or _is_native(g, w, g.size, w.shape):
        return _gather(g, w, x_shape, stride, padding, dilation, groups)
    return _spread(g, w, x_shape, stride, padding, dilation, groups)


@computes_halves_in_single
def transposed_convolution(x, w, out_shape, stride, padding, dilation, groups=1, bias=None):
    """The same map as an operation of its own: each number of x is spread over a kernel of w (in, out/groups, *kernel).

    >>> transposed_convolution(np.ones((1, 1, 2)), np.array([[[1.0, 10]]]), (1, 1, 3), (1,), (0,), (1,))
    array([[[ 1., 11., 10.]]])
    """
    if x.size * math.prod(w.shape[2:]) < 1 << 17:  # small: the way that rounds less, by shorter sums
        out = _spread(x, w, out_shape, stride, padding, dilation, groups)
    else:
        out = convolution_input_gradient(x, w, out_shape, stride, padding, dilation, groups)
    if bias is not None:
        out += bias.reshape(-1, *[1] * (x.ndim - 2))
    return out


def _gather(g, w, x_shape, stride, padding, dilation, groups):
    """The gradient as convolutions of g with turned kernels: one for each residue of places in x by the stride.

    An input at y meets the tap i where y + padding - i * dilation is a multiple of the stride, so the inputs of one
    residue all meet the same taps, evenly spaced, and neighbours among them meet neighbours in g.
    """
    outputs, channels, *spatial = w.shape[0], *x_shape[1:]
    kernel = w.shape[2:]
    # (groups * in, out, *kernel): in and out change places within each group
    swapped = w.reshape(groups, outputs // groups, channels // groups, *kernel).swapaxes(1, 2)
    swapped = swapped.reshape(channels, outputs // groups, *kernel)
    ones = (1,) * len(spatial)
    gx = np.zeros(x_shape, g.dtype) if stride != ones or 0 in spatial else None
    per_dim = [_residues(*sizes) for sizes in zip(spatial, kernel, stride, padding, dilation)]
    for parts in itertools.product(*per_dim):
        inputs, taps, steps, before = zip(*parts)
        turned = swapped[(..., *taps)]
        size = tuple(len(range(n)[where]) for n, where in zip(spatial, inputs))
        part = convolution(g, turned, ones, before, steps, groups, size=size)
        if gx is None:
            return part
        gx[(..., *inputs)] = part
    return gx


def _residues(size, kernel, stride, padding, dilation):
    """Along one dimension: for each residue with taps, its inputs, its taps backwards, their spacing in g and the
    padding before g that lines both up."""
    found = []
    common = math.gcd(stride, dilation)
    spacing = dilation // common
    for first_tap in range(min(kernel, stride // common)):
        first = (first_tap * dilation - padding) % stride
        taps = range(first_tap, kernel, stride // common)
        if first < size:
            at = (first + padding - first_tap * dilation) // stride  # the place in g that meets the first tap
            backwards = slice(taps[-1], first_tap - 1 if first_tap else None, -(stride // common))
            found.append((slice(first, size, stride), backwards, spacing, (len(taps) - 1) * spacing - at))
    return found


def _spread(g, w, x_shape, stride, padding, dilation, groups):
    """The gradient of every patch, and each tap's share of them added at its place."""
    samples, channels = x_shape[:2]
    outputs, _, *kernel = w.shape
    gx = np.zeros(x_shape, g.dtype)
    if not (g.size and gx.size):
        return gx
    size = g.shape[2:]
    plan = _plan(tuple(x_shape[1:]), tuple(kernel), stride, padding, dilation, size, g.itemsize, w.nbytes, None)
    transposed = np.ascontiguousarray(w).reshape(groups, outputs // groups, -1).swapaxes(1, 2)
    for first in range(0, samples, plan.samples):
        count = min(plan.samples, samples - first)
        padded = np.zeros((count, channels, *plan.reach), g.dtype)
        by_channel = padded.swapaxes(0, 1)
        for row in range(0, size[0], plan.rows):
            part, rows = _rows_by_channel(g, first, count, row, plan.rows)
            columns = np.matmul(transposed, part.reshape(groups, outputs // groups, -1))
            columns = columns.reshape(channels, *kernel, count, rows, *size[1:])
            extent = (rows, *size[1:])
            for tap in itertools.product(*map(range, kernel)):
                starts = [i * d for i, d in zip(tap, dilation)]
                starts[0] += row * stride[0]
                window = tuple(slice(a, a + s * (n - 1) + 1, s) for a, s, n in zip(starts, stride, extent))
                by_channel[(..., *window)] += columns[(slice(None), *tap)]
        gx[(slice(first, first + count), ..., *plan.inside)] = padded[(..., *plan.interior)]
    return gx


@computes_halves_in_single
def convolution_weight_gradient(g, x, w_shape, stride, padding, dilation, groups=1):
    """Transpose of `convolution` in w: how g (batch, out, *size) and x together move each weight.

    >>> x = np.array([[[1.0, 2, 3, 4]]])
    >>> convolution_weight_gradient(np.ones((1, 1, 3)), x, (1, 1, 2), (1,), (0,), (1,))
    array([[[6., 9.]]])
    """
    outputs, _, *kernel = w_shape
    if _is_native(g, x, g.size, w_shape):
        tiles = native.module("winograd")
        if tiles.suits(len(g), w_shape, stride, dilation, groups, g.shape[2:]):
            gw = tiles.weight_gradient(g, x, w_shape, padding, groups)
        else:
            gw = native.module("direct").weight_gradient(g, x, w_shape, stride, padding, dilation, groups)
        if np.isfinite(gw).all():  # else it matters that borders and neighbours are no part of the sums
            return gw
    gw = np.zeros((groups, outputs // groups, math.prod(w_shape[1:])), g.dtype)
    if g.size and x.size:
        size = g.shape[2:]
        limit = 2 * gw.nbytes  # each further panel costs one pass over gw
        plan = _plan(x.shape[1:], tuple(kernel), stride, padding, dilation, size, g.itemsize, limit, None)
        product = gw
        for first, count, row, rows, columns in _panels(x, plan):
            part, _ = _rows_by_channel(g, first, count, row, rows)
            part = part.reshape(groups, outputs // groups, -1)
            columns = columns.reshape(groups, gw.shape[2], -1)
            if product is gw:
                np.matmul(part, columns.swapaxes(1, 2), out=gw)
                product = np.empty_like(gw)
            else:
                gw += np.matmul(part, columns.swapaxes(1, 2), out=product)
    return gw.reshape(w_shape)


class _Plan:
    """What of the padded samples is reached, and how many samples and rows of the result one panel covers."""

    def __init__(self, x_shape, kernel, stride, padding, dilation, size, itemsize, weight_bytes, outputs):
        channels, *spatial = x_shape
        self.kernel, self.stride, self.dilation, self.size = kernel, stride, dilation, size
        self.reach = tuple((n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(size, stride, dilation, kernel))
        ends = [max(p, min(p + n, r)) for n, p, r in zip(spatial, padding, self.reach)]
        self.interior = tuple(slice(max(p, 0), end) for p, end in zip(padding, ends))  # where x lies in the padded
        self.inside = tuple(slice(max(-p, 0), end - p) for p, end in zip(padding, ends))  # what of x lies there
        self.exact = all(p == 0 for p in padding) and self.reach == tuple(spatial)
        waste = self.reach[-1] / max(1, size[-1]) - 1 if len(size) > 1 else 0
        # outputs is None where border columns may not take part: they are sums with foreign numbers
        self.flat = (
            outputs is not None
            and all(s == 1 for s in stride)
            and waste * (COPY_COST + outputs * MULTIPLY_COST) < RUN_COST / max(1, size[-1])
        )
        self.row_shape = (*size[1:-1], self.reach[-1]) if self.flat and len(size) > 1 else size[1:]
        self.row_length = math.prod(self.row_shape)
        row_bytes = max(1, channels * math.prod(kernel) * self.row_length * itemsize)
        budget = max(1, max(PANEL_BYTES, weight_bytes) // row_bytes)
        rows = max(1, size[0])
        self.samples, self.rows = max(1, budget // rows), min(budget, rows)

    def window(self, count, rows, per_sample, steps):
        """Shape and strides of one tap's part of a panel, `steps` being the strides of a padded sample."""
        if not self.flat:
            return (count, rows, *self.size[1:]), (per_sample, *[s * step for s, step in zip(self.stride, steps)])
        if len(steps) == 3:  # flat within a slice
            return (count, rows, self.row_length), (per_sample, steps[0], steps[2])
        return (count, rows * self.row_length), (per_sample, steps[-1])


_plan = functools.lru_cache(maxsize=1024)(_Plan)


def _panels(x, plan):
    """Panel by panel: first sample, samples, first row, rows, and the matrix of their patches, a column each.

    The matrix has in * prod(kernel) rows; its memory is used again for the next panel.
    """
    samples, channels = x.shape[:2]
    at_most = min(plan.samples, samples)
    area = math.prod(plan.reach)
    direct = plan.exact and not plan.flat and x.flags.c_contiguous
    if direct:
        source = x
    else:  # a little more at the end, for the last sample's border columns
        source = np.zeros(at_most * channels * area + plan.reach[-1], x.dtype)
        padded = source[: at_most * channels * area].reshape(at_most, channels, *plan.reach)
    steps = [x.itemsize * math.prod(plan.reach[i + 1 :]) for i in range(len(plan.reach))]
    per_channel, per_sample = area * x.itemsize, channels * area * x.itemsize
    per_tap = (per_channel, *[d * step for d, step in zip(plan.dilation, steps)])
    height = channels * math.prod(plan.kernel)
    buffer = None
    for first in range(0, samples, plan.samples):
        count = min(plan.samples, samples - first)
        if not direct:
            padded[(slice(count), ..., *plan.interior)] = x[(slice(first, first + count), ..., *plan.inside)]
        for row in range(0, plan.size[0], plan.rows):
            rows = min(plan.rows, plan.size[0] - row)
            extent, strides = plan.window(count, rows, per_sample, steps)
            start = row * plan.stride[0] * steps[0] + (first * per_sample if direct else 0)
            shape = (channels, *plan.kernel, *extent)
            columns = np.ndarray(shape, x.dtype, source, start, per_tap + strides)
            if not columns.flags.c_contiguous:
                if buffer is None:
                    buffer = np.empty(columns.size, x.dtype)
                matrix = buffer[: columns.size].reshape(shape)
                np.copyto(matrix, columns)
                columns = matrix
            yield first, count, row, rows, columns.reshape(height, -1)


def _rows_by_channel(g, first, count, row, rows):
    """Rows of some samples of g as a contiguous (out, count, rows, ...), without a copy for a whole sample."""
    part = g[first : first + count, :, row : row + rows].swapaxes(0, 1)
    return np.ascontiguousarray(part), part.shape[2]


def _is_native(x, w, results, w_shape):
    """Whether a compiled kernel is to do this: sums over windows of w_shape, `results` of them."""
    work = results * math.prod(w_shape[1:])
    if work < NATIVE_FROM or x.dtype != w.dtype or x.dtype not in (np.float32, np.float64):
        return False
    return native.ready(work * MULTIPLY_COST * 1e-9)


def _is_pointwise(x, kernel, stride, padding, size):
    """Whether each number of the result sees one place of x, with enough places a sample to fill a product."""
    return (
        size == x.shape[2:]
        and all(k == 1 for k in kernel)
        and all(s == 1 for s in stride)
        and not any(padding)
        and (x.shape[0] == 1 or math.prod(size) >= 128)
    )
