"""Convolution over one, two or three dimensions, and its two adjoints, on arrays.

Each window of x becomes a column of a matrix, and the convolution one matrix product per panel of columns; a panel is
a few megabytes, so it is still in the cache when BLAS reads it, and the whole patch matrix never exists.
Where the stride is 1 a panel is laid out *flat*: for each place in the kernel the padded samples are copied from an
offset on, in one run, border columns included; their results are cut off afterwards. That copies twice as fast as
window by window (0.13 against 0.27 ns a number at width 28, 0.87 at width 7) and wastes width_padded/width - 1 of the
product, so the cheaper of the two is chosen. Measured and slower in NumPy: a sum of one product per kernel place on
shifted views (no copies, but the partial sums cost more), einsum, and Winograd's transforms (the arithmetic saved goes
into moving tiles, and a digit of accuracy is lost).

Nothing here conjugates: the adjoints are transposes, and callers with complex numbers pass conjugates.
`stride`, `padding` and `dilation` are tuples with a number per dimension.
"""

import functools
import itertools
import math

import numpy as np

from tensorgrad.backends.precision import computes_halves_in_single

PANEL_BYTES = 4 << 20  # what a panel of patches may take: 1 to 8 MB measured alike
COPY_COST, RUN_COST, MULTIPLY_COST = 0.13, 5.3, 0.012  # ns: a number copied, a run of them started, a multiply-add


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
    weights = w.reshape(groups, outputs // groups, math.prod(w.shape[1:]))
    if out.size and _is_pointwise(x, kernel, stride, padding, size):
        columns = x.reshape(samples, groups, channels // groups, -1)
        np.matmul(weights, columns, out=out.reshape(samples, groups, outputs // groups, -1))
        if bias is not None:
            out += bias.reshape(-1, *[1] * len(size))
        return out
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
        product = product[plan.kept].swapaxes(0, 1)
        if bias is None:
            target[...] = product
        else:
            np.add(product, bias, out=target)
    return out


@computes_halves_in_single
def convolution_input_gradient(g, w, x_shape, stride, padding, dilation, groups=1):
    """Transpose of `convolution` in x: spread g (batch, out, *size) over an array of x_shape. Also the forward of
    transposed convolution, whose output_padding is in x_shape.

    >>> convolution_input_gradient(np.ones((1, 1, 3)), np.array([[[1.0, 10]]]), (1, 1, 4), (1,), (0,), (1,))
    array([[[ 1., 11., 11., 10.]]])
    """
    samples, channels, *spatial = x_shape
    outputs, _, *kernel = w.shape
    if all(s == 1 for s in stride) and outputs <= 2 * channels:
        grouped = w.reshape(groups, outputs // groups, channels // groups, *kernel)
        turned = np.flip(grouped.swapaxes(1, 2), tuple(range(3, w.ndim + 1)))
        turned = turned.reshape(channels, outputs // groups, *kernel)
        padding = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding))
        return convolution(g, turned, stride, padding, dilation, groups, size=tuple(spatial))
    gx = np.zeros(x_shape, g.dtype)
    if not (g.size and gx.size):
        return gx
    size = g.shape[2:]
    plan = _plan(tuple(x_shape[1:]), tuple(kernel), stride, padding, dilation, size, g.itemsize, w.nbytes, None)
    transposed = w.reshape(groups, outputs // groups, -1).swapaxes(1, 2)
    for first in range(0, samples, plan.samples):
        count = min(plan.samples, samples - first)
        padded = np.zeros((count, channels, *plan.reach), g.dtype)
        spread = padded.swapaxes(0, 1)
        for row in range(0, size[0], plan.rows):
            part, rows = _rows_by_channel(g, first, count, row, plan.rows)
            columns = np.matmul(transposed, part.reshape(groups, outputs // groups, -1))
            columns = columns.reshape(channels, *kernel, count, rows, *size[1:])
            extent = (rows, *size[1:])
            for place in itertools.product(*map(range, kernel)):
                starts = [i * d for i, d in zip(place, dilation)]
                starts[0] += row * stride[0]
                window = tuple(slice(a, a + s * (n - 1) + 1, s) for a, s, n in zip(starts, stride, extent))
                spread[(..., *window)] += columns[(slice(None), *place)]
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
        waste = math.prod(self.reach[1:]) / max(1, math.prod(size[1:])) - 1
        # outputs is None where border columns may not take part: they are sums with foreign numbers
        self.flat = (
            outputs is not None
            and all(s == 1 for s in stride)
            and waste * (COPY_COST + outputs * MULTIPLY_COST) < RUN_COST / max(1, size[-1])
        )
        self.row_shape = self.reach[1:] if self.flat else size[1:]
        self.row_length = math.prod(self.row_shape)
        self.kept = (..., *[slice(n) for n in size[1:]])
        row_bytes = max(1, channels * math.prod(kernel) * self.row_length * itemsize)
        budget = max(PANEL_BYTES, weight_bytes) // row_bytes
        rows = max(1, size[0])
        self.samples, self.rows = max(1, budget // rows), min(max(1, budget), rows)


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
    else:  # a row more at the end, for the last sample's border columns
        source = np.zeros(at_most * channels * area + plan.row_length, x.dtype)
        padded = source[: at_most * channels * area].reshape(at_most, channels, *plan.reach)
    strides = [x.itemsize * math.prod(plan.reach[i + 1 :]) for i in range(len(plan.reach))]
    per_channel, per_sample = area * x.itemsize, channels * area * x.itemsize
    per_place = [d * step for d, step in zip(plan.dilation, strides)]
    per_window = [x.itemsize] if plan.flat else [s * step for s, step in zip(plan.stride, strides)]
    per_number = (per_channel, *per_place, per_sample, *per_window)
    height = channels * math.prod(plan.kernel)
    buffer = None
    for first in range(0, samples, plan.samples):
        count = min(plan.samples, samples - first)
        if not direct:
            padded[(slice(count), ..., *plan.interior)] = x[(slice(first, first + count), ..., *plan.inside)]
        for row in range(0, plan.size[0], plan.rows):
            rows = min(plan.rows, plan.size[0] - row)
            extent = (rows * plan.row_length,) if plan.flat else (rows, *plan.size[1:])
            start = row * plan.stride[0] * strides[0] + (first * per_sample if direct else 0)
            shape = (channels, *plan.kernel, count, *extent)
            columns = np.ndarray(shape, x.dtype, source, start, per_number)
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


def _is_pointwise(x, kernel, stride, padding, size):
    """Whether each number of the result sees one place of x, with enough places a sample to fill a product."""
    return (
        size == x.shape[2:]
        and all(k == 1 for k in kernel)
        and all(s == 1 for s in stride)
        and not any(padding)
        and (x.shape[0] == 1 or math.prod(size) >= 128)
    )
