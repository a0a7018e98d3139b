"""Factorizations of (batches of) matrices that NumPy does not have, on arrays: LU with pivots, solutions with triangles,
Cholesky and solve that say where they fail, LDL, Householder reflections, the exponential.

Everything works on the last two dimensions; those before are a batch, done all at once. Large matrices are split into
halves, so that most of the work is in products of matrices.
"""

import numpy as np

LEAF = 16  # columns that are factored one by one
SMALL = 64  # triangles up to this size are solved by LAPACK


def adjoint(x):
    """The last two dimensions swapped, conjugated."""
    x = x.swapaxes(-1, -2)
    return x.conj() if x.dtype.kind == "c" else x


def quiet(function):
    """Let infinities and NaN happen without NumPy's warnings: they say that a matrix is singular."""

    def wrapper(*args, **kwargs):
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    wrapper.__doc__, wrapper.__name__ = function.__doc__, function.__name__
    return wrapper


def size(x):
    """How large numbers are when LAPACK looks for a pivot: for complex ones, the sum of both parts."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


# LU


@quiet
def lu_factor(a, pivot=True):
    """(L and U in one matrix, pivots counted from 1 as LAPACK's, first zero on the diagonal of U counted from 1 or 0)."""
    m, n = a.shape[-2:]
    lead, k = a.shape[:-2], min(m, n)
    packed = np.array(a, order="C").reshape(int(np.prod(lead)), m, n)
    pivots = np.broadcast_to(np.arange(k), (len(packed), k)).copy()
    _factor(packed, pivots, 0, k, pivot)
    if n > k:  # a wide matrix: the columns behind the square
        packed[:, :, k:] = triangular(packed[:, :, :k], packed[:, :, k:], upper=False, unit=True)
    diagonal = packed[:, range(k), range(k)]
    info = np.where((diagonal == 0).any(1), (diagonal == 0).argmax(1) + 1, 0) if k else np.zeros(len(packed))
    return packed.reshape(a.shape), (pivots + 1).astype(np.int32).reshape(*lead, k), info.astype(np.int32).reshape(lead)


def _factor(a, pivots, start, stop, pivot):
    """Factor the columns from start to stop, which those before have already been taken out of."""
    if stop - start > LEAF:
        middle = (start + stop) // 2
        _factor(a, pivots, start, middle, pivot)
        right = a[:, start:middle, middle:stop]
        right[...] = triangular(a[:, start:middle, start:middle], right, upper=False, unit=True)
        a[:, middle:, middle:stop] -= a[:, middle:, start:middle] @ right
        _factor(a, pivots, middle, stop, pivot)
        return
    rows = np.arange(len(a))
    for j in range(start, stop):
        if pivot:
            best = j + size(a[:, j:, j]).argmax(1)
            pivots[:, j] = best
            a[rows, j], a[rows, best] = a[rows, best], a[rows, j].copy()
        head = a[:, j, j, None]
        below = a[:, j + 1 :, j]
        np.divide(below, head, out=below, where=head != 0)
        a[:, j + 1 :, j + 1 : stop] -= below[:, :, None] * a[:, None, j, j + 1 : stop]


def permutation(pivots, n):
    """The order of rows that LAPACK's interchanges leave behind: row i of L @ U is row order[i] of the matrix."""
    order = np.broadcast_to(np.arange(n), (*pivots.shape[:-1], n)).copy()
    count = int(np.prod(pivots.shape[:-1]))
    flat, steps = order.reshape(count, n), pivots.reshape(count, pivots.shape[-1])
    rows = np.arange(count)
    for j in range(steps.shape[1]):
        other = steps[:, j] - 1
        flat[rows, j], flat[rows, other] = flat[rows, other], flat[rows, j].copy()
    return order


# Triangles


@quiet
def triangular(a, b, upper, unit=False):
    """x with a @ x == b, of which only one triangle (with `unit`, without its diagonal) is read."""
    n = a.shape[-1]
    if n > SMALL:
        h = n // 2
        if upper:
            last = triangular(a[..., h:, h:], b[..., h:, :], upper, unit)
            first = triangular(a[..., :h, :h], b[..., :h, :] - a[..., :h, h:] @ last, upper, unit)
        else:
            first = triangular(a[..., :h, :h], b[..., :h, :], upper, unit)
            last = triangular(a[..., h:, h:], b[..., h:, :] - a[..., h:, :h] @ first, upper, unit)
        return np.concatenate([first, last], -2)
    if not upper:  # the same from back to front: eliminating below an upper triangle is exactly substitution
        return triangular(a[..., ::-1, ::-1], b[..., ::-1, :], True, unit)[..., ::-1, :]
    triangle = np.triu(a)
    if unit:
        triangle[..., range(n), range(n)] = 1
    try:
        return np.linalg.solve(triangle, b)
    except np.linalg.LinAlgError:
        return _substituted(triangle, b)


def _substituted(a, b):
    """Back substitution that goes on where the diagonal is zero, with infinities as PyTorch's."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, lead + b.shape[-2:]))
    for i in reversed(range(a.shape[-1])):
        x[..., i, :] /= a[..., i, i, None]
        x[..., :i, :] -= a[..., :i, i, None] * x[..., i, None, :]
    return x


# What NumPy raises for a whole batch, told for each matrix


def singular_places(a):
    """For each matrix the first zero pivot, counted from 1, or 0."""
    return lu_factor(a)[2]


@quiet
def inverse(a):
    """(inverses, first zero pivot of each or 0)."""
    try:
        return np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = singular_places(a)
        wrong = (info != 0)[..., None, None]
        return np.where(
            wrong, np.array(np.nan, a.dtype), np.linalg.inv(np.where(wrong, np.eye(a.shape[-1]), a))
        ).astype(a.dtype), info


@quiet
def solved(a, b):
    """(x with a @ x == b, first zero pivot of each matrix or 0)."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    try:
        return np.linalg.solve(a, b), np.zeros(lead, np.int32)
    except np.linalg.LinAlgError:
        info = np.broadcast_to(singular_places(a), lead).copy()
        wrong = (info != 0)[..., None, None]
        x = np.linalg.solve(np.where(wrong, np.eye(a.shape[-1]), a), b)
        return np.where(wrong, np.array(np.nan, x.dtype), x).astype(b.dtype), info


@quiet
def cholesky(a, upper=False):
    """(L with a == L @ L^H, or the upper factor; order of the first minor that is not positive or 0)."""
    if not a.size:
        return np.zeros_like(a), np.zeros(a.shape[:-2], np.int32)
    try:
        return np.linalg.cholesky(a, upper=upper), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        pass
    if upper:
        factor, info = cholesky(adjoint(a))
        return adjoint(factor), info
    n = a.shape[-1]
    factor, info = np.tril(a), np.zeros(a.shape[:-2], np.int32)
    for j in range(n):  # a matrix that is not positive is left as it is at that point
        row = factor[..., j, :j]
        rest = factor[..., j, j].real - (np.abs(row) ** 2).sum(-1)
        going, well = info == 0, rest > 0
        info = np.where(going & ~well, j + 1, info)
        head = np.sqrt(np.where(well, rest, 1))
        factor[..., j, j] = np.where(going, np.where(well, head, rest), factor[..., j, j])
        below = factor[..., j + 1 :, j] - (factor[..., j + 1 :, :j] @ row.conj()[..., None])[..., 0]
        going = (info == 0)[..., None]
        factor[..., j + 1 :, j] = np.where(going, below / head[..., None], factor[..., j + 1 :, j])
    return factor, info.astype(np.int32)


# LDL, with blocks of one and two rows (Bunch and Kaufman), in LAPACK's layout

ALPHA = (1 + 17**0.5) / 8


@quiet
def ldl_factor(a, hermitian=False):
    """(L and D in one matrix, pivots as LAPACK's, first zero block of D counted from 1 or 0)."""
    n, lead = a.shape[-1], a.shape[:-2]
    packed = np.array(a, order="C")
    flat = packed.reshape(int(np.prod(lead)), n, n)
    pivots, info = np.zeros((len(flat), n), np.int32), np.zeros(len(flat), np.int32)
    for i, matrix in enumerate(flat):
        info[i] = _ldl(matrix, pivots[i], hermitian and a.dtype.kind == "c")
    return np.tril(packed), pivots.reshape(*lead, n), info.reshape(lead)


def _ldl(a, pivots, hermitian):
    n, k, info = len(a), 0, 0
    conj = np.conj if hermitian else lambda x: x
    while k < n:
        step, place = 1, k
        if hermitian:
            a[k, k] = a[k, k].real
        head = abs(a[k, k].real) if hermitian else size(a[k, k])
        largest, where = 0.0, k
        if k < n - 1:
            column = size(a[k + 1 :, k])
            where = k + 1 + int(column.argmax())
            largest = column[where - k - 1]
        if max(head, largest) == 0 or np.isnan(head):
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        if head < ALPHA * largest:
            across = np.concatenate([a[where, k:where], a[where + 1 :, where]])
            widest = size(across).max()
            last = abs(a[where, where].real) if hermitian else size(a[where, where])
            if head < ALPHA * largest * (largest / widest):
                place = where
                if last < ALPHA * widest:
                    step = 2
        row = k + step - 1
        if place != row:
            _swap(a, row, place, k, step, conj)
        if step == 1:
            pivots[k] = place + 1
            column = a[k + 1 :, k] / a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(column, conj(a[k + 1 :, k]))
            a[k + 1 :, k] = column
        else:
            pivots[k] = pivots[k + 1] = -(place + 1)
            if k < n - 2:
                block = np.array([[a[k, k], conj(a[k + 1, k])], [a[k + 1, k], a[k + 1, k + 1]]])
                columns = a[k + 2 :, k : k + 2].copy()
                a[k + 2 :, k : k + 2] = np.linalg.solve(block.T, columns.T).T
                a[k + 2 :, k + 2 :] -= a[k + 2 :, k : k + 2] @ conj(columns).T
        k += step
    return info


def _swap(a, row, place, k, step, conj):
    """Exchange two rows and columns of what is left, of which the lower triangle counts."""
    below = a[place + 1 :, row].copy()
    a[place + 1 :, row], a[place + 1 :, place] = a[place + 1 :, place], below
    between = conj(a[row + 1 : place, row]).copy()
    a[row + 1 : place, row] = conj(a[place, row + 1 : place])
    a[place, row + 1 : place] = between
    a[place, row] = conj(a[place, row])
    a[row, row], a[place, place] = a[place, place], a[row, row]
    if step == 2:
        a[row, k], a[place, k] = a[place, k], a[row, k]


@quiet
def ldl_solve(packed, pivots, b, hermitian=False):
    """x with a @ x == b, from the factors of `ldl_factor`."""
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    n, m = b.shape[-2:]
    x = np.array(np.broadcast_to(b, (*lead, n, m)))
    factors = np.broadcast_to(packed, (*lead, n, n)).reshape(-1, n, n) if x.size else ()
    places = np.broadcast_to(pivots, (*lead, n)).reshape(-1, n) if x.size else ()
    conj = np.conj if hermitian and packed.dtype.kind == "c" else lambda x: x
    for ld, pivot, y in zip(factors, places, x.reshape(-1, n, m) if x.size else (), strict=True):
        k = 0
        while k < n:
            step = 1 if pivot[k] > 0 else 2
            row, place = k + step - 1, abs(pivot[k]) - 1
            if row != place:
                y[[row, place]] = y[[place, row]]
            y[k + step :] -= ld[k + step :, k : k + step] @ y[k : k + step]
            if step == 1:
                y[k] /= ld[k, k].real if conj is np.conj else ld[k, k]
            else:
                block = np.array([[ld[k, k], conj(ld[k + 1, k])], [ld[k + 1, k], ld[k + 1, k + 1]]])
                y[k : k + 2] = np.linalg.solve(block, y[k : k + 2])
            k += step
        k = n
        while k > 0:
            step = 1 if pivot[k - 1] > 0 else 2
            k -= step
            y[k : k + step] -= conj(ld[k + step :, k : k + step]).T @ y[k + step :]
            row, place = k + step - 1, abs(pivot[k]) - 1
            if row != place:
                y[[row, place]] = y[[place, row]]
    return x


# The exponential

PADE = {  # degree: (largest norm it is good for, coefficients of the numerator)
    3: (1.495585217958292e-2, (120, 60, 12, 1)),
    5: (2.539398330063230e-1, (30240, 15120, 3360, 420, 30, 1)),
    7: (9.504178996162932e-1, (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1)),
    9: (2.097847961257068, (17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1)),
    13: (5.371920351148152, (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
                             10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)),
}  # fmt: skip


@quiet
def exponential(a):
    """The exponentials of square matrices, by scaling, a Padé approximant (Higham's) and squaring."""
    dtype, n = a.dtype, a.shape[-1]
    if not a.size:
        return a.copy()
    x = a.astype(np.complex128 if dtype.kind == "c" else np.float64)
    norms = np.abs(x).sum(-2).max(-1)
    largest = norms.max()
    finite = np.isfinite(norms)
    degree = next((d for d, (limit, _) in PADE.items() if largest <= limit), 13)
    limit, c = PADE[degree]
    times = np.where(finite & (norms > limit), np.ceil(np.log2(np.where(norms > 0, norms, 1) / limit)), 0).astype(int)
    x = x * (0.5**times)[..., None, None]
    x[~finite] = 0
    identity = np.eye(n)
    square = x @ x
    powers = [identity, square]
    while len(powers) < min(degree, 7) // 2 + 1:
        powers.append(powers[-1] @ square)
    if degree == 13:
        high = lambda a, b, d: powers[3] @ (a * powers[3] + b * powers[2] + d * powers[1])
        odd = high(c[13], c[11], c[9]) + c[7] * powers[3] + c[5] * powers[2] + c[3] * square + c[1] * identity
        even = high(c[12], c[10], c[8]) + c[6] * powers[3] + c[4] * powers[2] + c[2] * square + c[0] * identity
    else:
        if degree == 9:
            powers.append(powers[-1] @ square)
        odd = sum(c[2 * i + 1] * p for i, p in enumerate(powers))
        even = sum(c[2 * i] * p for i, p in enumerate(powers))
    odd = x @ odd
    result = np.linalg.solve(even - odd, even + odd)
    for step in range(int(times.max())):
        more = (times > step)[..., None, None]
        result = np.where(more, result @ result, result)
    result[~finite] = np.nan
    return result.astype(dtype)
