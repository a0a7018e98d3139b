"""Checking derivatives against finite differences. For tests: it runs the function twice for every number of its inputs.

Complex numbers are taken as pairs of reals: the gradient PyTorch defines for a complex input, with the cotangent 1 (or 1j) at
one output, is the derivative of that output's real (or imaginary) part with respect to the input's real part, plus 1j times
the one with respect to its imaginary part. So both sides are real matrices, and one comparison serves all.
"""

import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.differentiate import grad
from tensorgrad.autograd.modes import no_grad
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor


class GradcheckError(RuntimeError):
    """A derivative differs from finite differences."""


def leaves(value):
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return (
        [t for item in value for t in leaves(item)]
        if isinstance(value, (tuple, list))
        or (not isinstance(value, (str, int, float, complex, type(None))) and hasattr(value, "__iter__"))
        else []
    )


def differentiable(outputs):
    return [o for o in leaves(outputs) if o.dtype.category >= dtypes.FLOAT]


def reals(array):
    """An array as a flat vector of reals; complex numbers become neighbours."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def basis(output):
    """The cotangents that pick each real number of an output."""
    flat = np.zeros(output.numel(), output._array.dtype)
    for i in range(flat.size):
        for unit in (1, 1j) if output.is_complex() else (1,):
            flat[i] = unit
            yield wrap(flat.reshape(output.shape).copy())
        flat[i] = 0


def numerical(function, inputs, source, eps):
    """The Jacobian of every output with respect to `source` by central differences, one column for each real number."""
    columns = []
    array = source._array
    flat_places = list(np.ndindex(array.shape))
    for place in flat_places:
        for unit in (1, 1j) if source.is_complex() else (1,):
            original = array[place].copy()
            values = []
            for sign in (1, -1):
                array[place] = original + sign * eps * unit
                with no_grad():
                    values.append([reals(o._array).astype(np.float64) for o in differentiable(function(*inputs))])
            array[place] = original
            columns.append([(a - b) / (2 * eps) for a, b in zip(*values, strict=True)])
    count = len(differentiable(run(function, inputs)))
    return [np.stack([c[k] for c in columns], 1) if columns else np.zeros((0, 0)) for k in range(count)]


def run(function, inputs):
    return function(*inputs)


def analytical(output, sources, keep=True):
    """The Jacobian of one output with respect to each source, a row for each real number of the output."""
    rows = [[] for _ in sources]
    if output.requires_grad:
        for cotangent in basis(output):
            for i, g in enumerate(grad(output, sources, cotangent, retain_graph=keep, allow_unused=True)):
                rows[i].append(checked_rows(g, sources[i]))
    width = [reals(s._array).size for s in sources]
    count = reals(output.detach()._array).size
    return [np.stack(r) if r else np.zeros((count, w)) for r, w in zip(rows, width, strict=True)]


def checked_rows(g, source):
    if g is None:
        return np.zeros(reals(source._array).size)
    if g.shape != source.shape:
        raise GradcheckError("Analytical gradient has incorrect size")
    if g.dtype is not source.dtype:
        raise GradcheckError("Analytical gradient has incorrect type")
    return reals(g.detach()._array).astype(np.float64)


def forward_mode(function, inputs, source):
    """The Jacobians of every output with respect to `source` by forward mode, one column for each real number."""
    from tensorgrad.autograd import forward_ad

    columns = []
    for tangent in basis(source):
        with forward_ad.dual_level():
            dual = [forward_ad.make_dual(x.detach(), tangent) if x is source else x for x in inputs]
            column = []
            for output in differentiable(function(*dual)):
                t = forward_ad.unpack_dual(output).tangent
                column.append(
                    np.zeros(reals(output.detach()._array if t is None else t._array).size)
                    if t is None
                    else reals(t.detach()._array)
                )
            columns.append(column)
    count = len(columns[0]) if columns else 0
    return [np.stack([c[k] for c in columns], 1) for k in range(count)]


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False,
              masked=None):  # fmt: skip
    """Compare the gradients of `func` with finite differences; the inputs should be float64.

    >>> x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    try:
        check(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad, check_batched_grad, check_forward_ad,
              check_backward_ad, fast_mode)  # fmt: skip
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def check(func, inputs, eps, atol, rtol, nondet_tol, undefined, batched, forward, backward, fast):
    """All the comparisons of gradcheck; raises GradcheckError at the first that fails."""
    sources = [t for t in leaves(inputs) if t.requires_grad]
    if not sources:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for position, t in enumerate(sources):
        if t.dtype not in (dtypes.float64, dtypes.complex128):
            warnings.warn(
                f"Input #{position} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape, strict=True)):
            raise RuntimeError(
                f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous on the "
                "input before passing it to gradcheck."
            )
        t.retain_grad()
    if fast:
        return check_fast(func, inputs, sources, eps, atol, rtol, forward, backward)
    outputs = differentiable(func(*inputs))
    if not any(o.requires_grad for o in outputs):
        for source in sources:
            if any(np.any(np.abs(j) > atol) for j in numerical(func, inputs, source, eps)):
                raise GradcheckError("Numerical gradient for function expected to be zero")
        return None
    expected = {id(s): numerical(func, inputs, s, eps) for s in sources}
    for k, output in enumerate(outputs if backward else ()):
        jacobians = analytical(output, sources)
        again = analytical(output, sources)
        for i, (source, a, b) in enumerate(zip(sources, jacobians, again, strict=True)):
            compare(expected[id(source)][k], a, atol, rtol, k, i, "")
            if a.size and np.abs(a - b).max() > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different values, although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {nondet_tol}."
                )
    if backward and undefined:
        check_undefined(func, inputs, sources)
    if batched:
        for output in outputs:
            check_batched(output, sources)
    if forward:
        for i, source in enumerate(sources):
            for k, jacobian in enumerate(forward_mode(func, inputs, source)):
                compare(expected[id(source)][k], jacobian, atol, rtol, k, i, " in forward mode")
    return None


def compare(expected, found, atol, rtol, output, source, how):
    if not np.allclose(found, expected, rtol, atol, equal_nan=True):
        raise GradcheckError(
            f"Jacobian mismatch for output {output} with respect to input {source},\nnumerical:{wrap(expected.T.copy())}\n"
            f"analytical:{wrap(found.T.copy())}\n" + (f"(the analytical one was computed{how})\n" if how else "")
        )


def check_undefined(func, inputs, sources):
    """A backward must take missing gradients of outputs: with all of them missing, nothing arrives."""
    outputs = differentiable(func(*inputs))
    outputs = [o for o in outputs if o.requires_grad]
    if len(outputs) < 2:
        return
    for output in outputs:
        try:
            grad([output], sources, [output.detach() * 0 + 1], retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                'Expected backward function to handle undefined output grads. Please look at "Notes about undefined output '
                'gradients" in "tools/autograd/derivatives.yaml"'
            ) from error


def check_batched(output, sources):
    """The vectorised gradient of several cotangents must equal theirs one by one."""
    cotangents = list(basis(output))[:4]
    if not cotangents or not output.requires_grad:
        return
    from tensorgrad.ops.shape import stack

    together = grad(output, sources, stack(cotangents), retain_graph=True, allow_unused=True, is_grads_batched=True)
    for row, cotangent in enumerate(cotangents):
        for a, b in zip(together, grad(output, sources, cotangent, retain_graph=True, allow_unused=True), strict=True):
            if b is not None and not np.allclose(a[row].detach()._array, b.detach()._array):
                raise GradcheckError("Batched gradient differs from the gradients one by one")


def check_fast(func, inputs, sources, eps, atol, rtol, forward, backward):
    """One random direction for inputs and outputs instead of whole Jacobians."""
    random = np.random.RandomState(0)

    def direction(tensor):
        v = random.standard_normal(reals(tensor.detach()._array).size)
        v /= np.linalg.norm(v) or 1
        return v.view(np.complex128).reshape(tensor.shape) if tensor.is_complex() else v.reshape(tensor.shape)

    outputs = differentiable(func(*inputs))
    cotangents = [direction(o) for o in outputs]
    for i, source in enumerate(sources):
        u, array = direction(source), source._array
        original, values = array.copy(), []
        for sign in (1, -1):
            array[...] = original + sign * eps * u
            with no_grad():
                values.append([reals(o._array).astype(np.float64) for o in differentiable(func(*inputs))])
        array[...] = original
        for k, output in enumerate(outputs):
            wanted = reals(cotangents[k]) @ ((values[0][k] - values[1][k]) / (2 * eps))
            if backward:
                found = 0.0
                if output.requires_grad:
                    (g,) = grad(
                        output,
                        [source],
                        wrap(cotangents[k].astype(output._array.dtype)),
                        retain_graph=True,
                        allow_unused=True,
                    )
                    found = reals(u) @ checked_rows(g, source)
                compare_fast(wanted, found, atol, rtol, k, i)
        if forward:
            from tensorgrad.autograd import forward_ad

            with forward_ad.dual_level():
                tangent = wrap(u.astype(array.dtype))
                dual = [forward_ad.make_dual(x.detach(), tangent) if x is source else x for x in inputs]
                for k, output in enumerate(differentiable(func(*dual))):
                    t = forward_ad.unpack_dual(output).tangent
                    wanted = reals(cotangents[k]) @ ((values[0][k] - values[1][k]) / (2 * eps))
                    compare_fast(
                        wanted, 0.0 if t is None else reals(cotangents[k]) @ reals(t.detach()._array), atol, rtol, k, i
                    )


def compare_fast(wanted, found, atol, rtol, output, source):
    if not np.allclose(found, wanted, rtol, atol):
        raise GradcheckError(
            f"Jacobian mismatch for output {output} with respect to input {source},\nnumerical:{wanted}\nanalytical:{found}\n"
            "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode. Run with "
            "fast_mode=False to see the whole matrices.\n"
        )


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
                  check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False,
                  masked=False):  # fmt: skip
    """Compare second derivatives with finite differences of the first ones.

    >>> x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    sources = [t for t in leaves(inputs) if t.requires_grad]
    if not sources:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    if grad_outputs is None:
        random, made = np.random.RandomState(0), []
        for output in differentiable(func(*inputs)):
            v = random.standard_normal(output.shape)
            if output.is_complex():
                v = v + 1j * random.standard_normal(output.shape)
            if gen_non_contig_grad_outputs and v.ndim:
                v = np.repeat(v[..., None], 2, -1)[..., 0]
            made.append(wrap(np.asarray(v, output._array.dtype)).requires_grad_())
        cotangents = tuple(made)
    else:
        cotangents = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    count = len(inputs)

    def first(*args):
        values, given = args[:count], args[count:]
        wanted = [t for t in leaves(values) if t.requires_grad]
        outputs = differentiable(func(*values))
        pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if o.requires_grad]
        from tensorgrad.autograd.modes import enable_grad

        with enable_grad():
            return tuple(
                g for g in grad([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True)
                if g is not None
            )  # fmt: skip

    def guarded(*args):
        from tensorgrad.autograd.modes import enable_grad

        with enable_grad():
            return first(*args)

    return gradcheck(
        guarded, (*inputs, *cotangents), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, fast_mode=fast_mode,
    )  # fmt: skip
