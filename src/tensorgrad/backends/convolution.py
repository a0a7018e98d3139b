"""Convolution over one, two or three dimensions, and its two adjoints, on arrays.

Each window of x becomes a column of a matrix, and the convolution one matrix product per panel of columns; a panel is
two megabytes, so it is still in the cache when BLAS reads it, and the whole patch matrix never exists. Each core takes
panels of its own, with its products: that is quicker than BLAS's threads at each product and one core between them (32
samples of 64 x 28 x 28, 3 x 3: 11.6 ms instead of 16 to 30).
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

from tensorgrad import settings
from tensorgrad.backends import crew, native
from tensorgrad.backends.precision import computes_halves_in_single

PANEL_BYTES = 2 << 20  # what a panel of patches may take: 1 to 8 MB measured alike
COPY_COST, RUN_COST, MULTIPLY_COST = 0.13, 5.3, 0.012  # ns: a number copied, a run of them started, a multiply-add
CUT_COST = 1500  # ns: the steps that cut border columns off
SHARED_COST = 150_000  # ns of work from which all cores take part
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
    if size is None:
        size = convolution_size(x.shape[2:], w.shape[2:], stride, padding, dilation)
    outputs = w.shape[0]
    out = np.empty((x.shape[0], outputs, *size), x.dtype)
    plan = _plan(x.shape, w.shape, stride, padding, dilation, groups, size, x.itemsize, w.nbytes, outputs // groups)
    if plan.pointwise and out.size:
        weights = np.ascontiguousarray(w).reshape(plan.weights)
        columns, product = x.reshape(len(x), groups, plan.weights[2], -1), out.reshape(len(x), *plan.weights[:2], -1)
        _share(plan, lambda low, high: np.matmul(weights, columns[low:high], out=product[low:high]), len(x))
        if bias is not None:
            out += bias.reshape(-1, *[1] * len(size))
        return out
    if _is_native(x, w, out.size, w.shape):
        tiles = native.module("winograd")
        if tiles.suits(len(x), w.shape, stride, dilation, groups, size) and tiles.convolution(
            x, w, padding, groups, bias, size, out
        ):
            return out
        return native.module("direct").convolution(x, w, stride, padding, dilation, groups, bias, tuple(size), out)
    weights = np.ascontiguousarray(w).reshape(plan.weights)
    if bias is not None:
        bias = bias.reshape(-1, *[1] * len(size))

    def work(low, high):
        for first, count, row, rows, columns in _panels(x, plan, low, high):
            target = out[first : first + count, :, row : row + rows]
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

    _share(plan, work, len(plan.panels))
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
    for inputs, taps, steps, before, size in _turned(tuple(spatial), kernel, stride, padding, dilation):
        part = convolution(g, swapped[taps], ones, before, steps, groups, size=size)
        if gx is None:
            return part
        gx[inputs] = part
    return gx


@functools.lru_cache(maxsize=1024)
def _turned(spatial, kernel, stride, padding, dilation):
    """For each residue of places: the index of its inputs, that of its taps, and dilation, padding and size of its
    convolution."""
    per_dim = [_residues(*sizes) for sizes in zip(spatial, kernel, stride, padding, dilation)]
    found = []
    for parts in itertools.product(*per_dim):
        inputs, taps, steps, before = zip(*parts)
        size = tuple(len(range(n)[where]) for n, where in zip(spatial, inputs))
        found.append(((..., *inputs), (..., *taps), steps, before, size))
    return found


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
    channels = x_shape[1]
    outputs, _, *kernel = w.shape
    gx = np.zeros(x_shape, g.dtype)
    if not (g.size and gx.size):
        return gx
    size = g.shape[2:]
    plan = _plan(tuple(x_shape), w.shape, stride, padding, dilation, groups, size, g.itemsize, w.nbytes, None)
    transposed = np.ascontiguousarray(w).reshape(groups, outputs // groups, -1).swapaxes(1, 2)

    def work(low, high):
        for first, count, places, inside, placed in plan.samples[low:high]:
            padded = np.zeros((count, channels, *plan.reach), g.dtype)
            by_channel = padded.swapaxes(0, 1)
            for row, rows, *_ in places:
                part = _rows_by_channel(g, first, count, row, rows)
                columns = np.matmul(transposed, part.reshape(groups, outputs // groups, -1))
                columns = columns.reshape(channels, *kernel, count, rows, *size[1:])
                extent = (rows, *size[1:])
                for tap in itertools.product(*map(range, kernel)):
                    starts = [i * d for i, d in zip(tap, dilation)]
                    starts[0] += row * stride[0]
                    window = tuple(slice(a, a + s * (n - 1) + 1, s) for a, s, n in zip(starts, stride, extent))
                    by_channel[(..., *window)] += columns[(slice(None), *tap)]
            gx[inside] = padded[placed]

    _share(plan, work, len(plan.samples))
    return gx


@computes_halves_in_single
def convolution_weight_gradient(g, x, w_shape, stride, padding, dilation, groups=1):
    """Transpose of `convolution` in w: how g (batch, out, *size) and x together move each weight.

    >>> x = np.array([[[1.0, 2, 3, 4]]])
    >>> convolution_weight_gradient(np.ones((1, 1, 3)), x, (1, 1, 2), (1,), (0,), (1,))
    array([[[6., 9.]]])
    """
    outputs = w_shape[0]
    if _is_native(g, x, g.size, w_shape):
        tiles = native.module("winograd")
        if tiles.suits(len(g), w_shape, stride, dilation, groups, g.shape[2:]):
            gw = tiles.weight_gradient(g, x, w_shape, padding, groups)
        else:
            gw = native.module("direct").weight_gradient(g, x, w_shape, stride, padding, dilation, groups)
        if np.isfinite(gw).all():  # else it matters that borders and neighbours are no part of the sums
            return gw
    kernels, height = outputs // groups, math.prod(w_shape[1:])
    wide = kernels > height  # BLAS is up to twice as fast if the longer side comes first
    gw = np.zeros((groups, kernels, height) if wide else (groups, height, kernels), g.dtype)
    if g.size and x.size:
        size = g.shape[2:]
        limit = 2 * gw.nbytes  # each further panel costs one pass over gw
        plan = _plan(x.shape, tuple(w_shape), stride, padding, dilation, groups, size, g.itemsize, limit, None)
        sums = [gw, *[np.empty_like(gw) for _ in plan.shares[1:]]]

        def work(low, high):
            for number in range(low, high):
                total = product = sums[number]
                for first, count, row, rows, columns in _panels(x, plan, *plan.shares[number]):
                    part = _rows_by_channel(g, first, count, row, rows).reshape(groups, kernels, -1)
                    a, b = (part, columns) if wide else (columns, part)
                    if product is total:
                        np.matmul(a, b.swapaxes(1, 2), out=total)
                        product = np.empty_like(total)
                    else:
                        total += np.matmul(a, b.swapaxes(1, 2), out=product)

        _share(plan, work, len(sums))
        for other in sums[1:]:
            gw += other
    return (gw if wide else np.ascontiguousarray(gw.swapaxes(1, 2))).reshape(w_shape)


def _share(plan, work, count):
    """work(low, high) on parts of so many things, by all cores if it takes long."""
    if plan.cores > 1:
        crew.share(work, count, products=True)
    else:
        work(0, count)


class _Plan:
    """All that a convolution's shapes say: what of the padded samples is reached, and the panels of patches.

    outputs: how many the kernels of a group are; None where border columns may not take part (sums with foreign numbers).
    """

    def __init__(self, x_shape, w_shape, stride, padding, dilation, groups, size, itemsize, limit, outputs):
        samples, channels, *spatial = x_shape
        kernel = w_shape[2:]
        taps = math.prod(kernel)
        ones = (1,) * len(size)
        height = channels // groups * taps  # numbers that one of the result sees
        self.weights = (groups, w_shape[0] // groups, height)
        self.reach = tuple((n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(size, stride, dilation, kernel))
        ends = [max(p, min(p + n, r)) for n, p, r in zip(spatial, padding, self.reach)]
        interior = tuple(slice(max(p, 0), end) for p, end in zip(padding, ends))  # where x lies in the padded
        inside = tuple(slice(max(-p, 0), end - p) for p, end in zip(padding, ends))  # what of x lies there
        # each number of the result sees one place of x, with enough places a sample to fill a product
        self.pointwise = (
            tuple(size) == tuple(spatial) and tuple(kernel) == stride == ones and not any(padding)
            and (samples == 1 or math.prod(size) >= 128)
        )  # fmt: skip
        self.flat = False
        if outputs is not None and stride == ones:
            waste = self.reach[-1] / max(1, size[-1]) - 1 if len(size) > 1 else 0
            saved = RUN_COST / max(1, size[-1]) - waste * (COPY_COST + outputs * MULTIPLY_COST)
            self.flat = saved * samples * math.prod(size) * channels * taps > CUT_COST
        self.exact = not self.flat and not any(padding) and self.reach == tuple(spatial)
        self.row_shape = (*size[1:-1], self.reach[-1]) if self.flat and len(size) > 1 else tuple(size[1:])
        row_length = math.prod(self.row_shape)
        cost = (w_shape[0] // groups * MULTIPLY_COST + COPY_COST) * samples * math.prod(size) * channels * taps
        self.cores = settings.cores() if cost > SHARED_COST else 1
        budget = max(1, max(PANEL_BYTES, limit) // max(1, channels * taps * row_length * itemsize))
        at_a_time = _evenly(samples, max(1, budget // max(1, size[0])), self.cores)
        rows_at_a_time = _evenly(size[0], budget, -(-self.cores // max(1, samples)))
        self.padded = min(at_a_time, samples), channels, *self.reach
        self.room = math.prod(self.padded) + self.reach[-1]  # a little more, for the last sample's border columns

        steps = [itemsize * math.prod(self.reach[i + 1 :]) for i in range(len(size))]
        per_channel = itemsize * math.prod(self.reach)
        self.per_sample = channels * per_channel
        per_tap = per_channel, *[d * step for d, step in zip(dilation, steps)]

        def part(count, row):
            """Of a panel: first row, rows, where its patches begin, shape and strides of all taps, shape of the matrix."""
            rows = min(rows_at_a_time, size[0] - row)
            if not self.flat:
                extent, strides = (rows, *size[1:]), [s * step for s, step in zip(stride, steps)]
            elif len(size) == 3:  # flat within a slice
                extent, strides = (rows, row_length), [steps[0], steps[2]]
            else:
                extent, strides = (rows * row_length,), [steps[-1]]
            shape = (channels, *kernel, count, *extent)
            matrix = (groups, height, count * math.prod(extent))
            return row, rows, row * stride[0] * steps[0], shape, (*per_tap, self.per_sample, *strides), matrix

        @functools.cache
        def parts(count):
            return [part(count, row) for row in range(0, size[0], rows_at_a_time)]

        self.samples = []  # first sample, samples, parts, the index of what is padded and of its place
        for first in range(0, samples, at_a_time):
            count = min(at_a_time, samples - first)
            taken, placed = (slice(first, first + count), ..., *inside), (slice(count), ..., *interior)
            self.samples.append((first, count, parts(count), taken, placed))
        self.panels = [
            (first, count, taken, placed, *part)
            for first, count, places, taken, placed in self.samples
            for part in places
        ]
        step = -(-len(self.panels) // self.cores)
        self.shares = [(low, low + step) for low in range(0, len(self.panels), step)] if step else []


def _evenly(total, most, cores):
    """How many of a total to take at a time, at most so many, if all cores are to take equally often."""
    times = -(-total // max(1, most))
    return max(1, -(-total // max(1, -(-times // cores) * cores)))


_plan = functools.lru_cache(maxsize=1024)(_Plan)


def _panels(x, plan, low, high):
    """Panel by panel, those from low to high: first sample, samples, first row, rows, and for each group the matrix of their
    patches, a column each. The memory of a matrix is used again for the next panel."""
    direct = plan.exact and x.flags.c_contiguous
    if direct:
        source = x
    else:
        source = np.zeros(plan.room, x.dtype)
        padded = np.ndarray(plan.padded, x.dtype, source)
    buffer, before = None, -1
    for first, count, taken, placed, row, rows, start, shape, strides, matrix in plan.panels[low:high]:
        if direct:
            start += first * plan.per_sample
        elif first != before:
            padded[placed], before = x[taken], first
        columns = np.ndarray(shape, x.dtype, source, start, strides)
        if not columns.flags.c_contiguous:
            if buffer is None or buffer.size < columns.size:
                columns = columns.copy()
                buffer = columns.reshape(-1)
            else:
                patches = buffer[: columns.size].reshape(shape)
                np.copyto(patches, columns)
                columns = patches
        yield first, count, row, rows, columns.reshape(matrix)


def _rows_by_channel(g, first, count, row, rows):
    """Rows of some samples of g as a contiguous (out, count, rows, ...), without a copy for a whole sample."""
    return np.ascontiguousarray(g[first : first + count, :, row : row + rows].swapaxes(0, 1))


def _is_native(x, w, results, w_shape):
    """Whether a compiled kernel is to do this: sums over windows of w_shape, `results` of them."""
    work = results * math.prod(w_shape[1:])
    if work < NATIVE_FROM or x.dtype != w.dtype or x.dtype not in (np.float32, np.float64):
        return False
    return native.ready(work * MULTIPLY_COST * 1e-9)
