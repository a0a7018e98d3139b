"""Results that mathematics leaves open: signs, phases and orders of factors, and which of equal elements is picked.

Values are compared strictly first. Only when they differ is the rule of the operation asked here, and it demands all
that is determined: the product of the factors, orthogonality, order, the values behind the indices.
"""

import torch

from .comparison import close
from .subjects import Difference


def demand(condition, text):
    if not condition:
        raise Difference("values", text)


def near(expected, got, what):
    wide = {torch.float16: 1e-2, torch.bfloat16: 1e-1, torch.float32: 1e-4, torch.complex64: 1e-4}.get(got.dtype, 1e-8)
    scale = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
    demand(close(expected.to(got.dtype), got, wide, wide * scale), f"{what} does not hold")


def orthonormal(q, what):
    identity = torch.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], -1, -1)
    near(identity, q.mH @ q, f"orthonormal columns of {what}")


def check_qr(sample, expected, got):
    a, (q, r) = sample.input, got
    near(r.triu(), r, "triangular R")
    if q.numel():
        near(a, q @ r, "Q @ R == A")
        orthonormal(q, "Q")
    else:
        near(a.mH @ a, r.mH @ r, "R^H @ R == A^H @ A")


def check_geqrf(sample, expected, got):
    packed, tau = got
    q = torch.linalg.householder_product(packed, tau)
    near(sample.input, q @ packed.triu()[..., : q.shape[-1], :], "Q @ R == A") if q.numel() else None


def check_svd(adjoint):
    """For U, S, Vh (`adjoint`) or U, S, V."""

    def check(sample, expected, got):
        u, s, v = got
        near(expected[1], s, "the singular values")
        if not expected[0].any():  # asked for the values alone
            return
        k = s.shape[-1]
        vh = v if adjoint else v.mH
        near(sample.input, u[..., :k] * s.to(u.dtype).unsqueeze(-2) @ vh[..., :k, :], "U @ S @ Vh == A")
        orthonormal(u, "U")
        orthonormal(vh.mH, "V")

    return check


def check_eigh(sample, expected, got):
    values, vectors = got
    near(expected[0], values, "the eigenvalues")
    lower = (sample.args + (sample.kwargs.get("UPLO", "L"),))[0].upper() == "L"
    a = sample.input.tril() if lower else sample.input.triu()
    strict = a.tril(-1) if lower else a.triu(1)
    diagonal = torch.diag_embed(a.diagonal(dim1=-2, dim2=-1).real.to(a.dtype))
    near(strict + strict.mH + diagonal, vectors * values.to(a.dtype).unsqueeze(-2) @ vectors.mH, "V L V^H == A")
    orthonormal(vectors, "V")


def same_eigenvalues(expected, got):
    """Equal as multisets, each eigenvalue matched with the nearest that is left."""
    for left, right in zip(expected.reshape(-1, expected.shape[-1]), got.reshape(-1, got.shape[-1])):
        for value in left:
            nearest = (right - value).abs().argmin()
            near(value, right[nearest], "the eigenvalues")
            right = torch.cat([right[:nearest], right[nearest + 1 :]])


def check_eigvals(sample, expected, got):
    same_eigenvalues(expected, got) if expected.numel() else None


def check_eig(sample, expected, got):
    values, vectors = got
    check_eigvals(sample, expected[0], values)
    near(vectors * values.unsqueeze(-2), sample.input.to(vectors.dtype) @ vectors, "A V == V L")
    near(torch.ones_like(values.real), torch.linalg.vector_norm(vectors, dim=-2), "unit eigenvectors")


def check_ldl(sample, expected, got):
    a, hermitian = sample.input, sample.kwargs.get("hermitian", False)
    a = a.tril() + (a.tril(-1).mH if hermitian else a.tril(-1).mT)
    sides = torch.ones(*a.shape[:-1], 1, dtype=a.dtype)
    near(sides, a @ torch.linalg.ldl_solve(got[0], got[1], sides, hermitian=hermitian), "A X == B by the factors")


def check_processed(sample, expected, got):
    for left, right in zip(sample.output_process_fn_grad(expected), sample.output_process_fn_grad(got)):
        near(left, right, "the product of the factors")


def picked(x, indices, dim):
    """The values behind indices along a dim, also for a 0-d tensor."""
    return torch.gather(x.reshape(1), 0, indices.reshape(1)) if x.ndim == 0 else torch.gather(x, dim, indices)


def dim_of(sample, position):
    """The dim a sample names, as a keyword or as its argument number `position` after the input; else the last."""
    if "dim" in sample.kwargs:
        return sample.kwargs["dim"]
    given = sample.args[position : position + 1]
    return given[0] if given and type(given[0]) is int else -1


def check_order(position):
    """sort, argsort, topk: another order is fine among equals, and only without `stable=True`."""

    def check(sample, expected, got):
        demand(not sample.kwargs.get("stable"), "the order of equal elements is not kept")
        x, dim = sample.input, dim_of(sample, position)
        indices, wanted = (got, expected) if isinstance(got, torch.Tensor) else (got[1], expected[1])
        if not isinstance(got, torch.Tensor):
            demand(close(expected[0], got[0], 0, 0), "the values differ")
        demand(close(picked(x, wanted, dim), picked(x, indices, dim), 0, 0), "the indices point at other values")
        if indices.ndim:
            demand(bool((indices.sort(dim=dim)[0].diff(dim=dim) != 0).all()), "an index occurs twice")

    return check


def check_picked(position):
    """kthvalue, median, mode: any index of the value will do."""

    def check(sample, expected, got):
        demand(isinstance(got, tuple) and close(expected[0], got[0], 0, 0), "the values differ")
        x, dim = sample.input, dim_of(sample, position)
        values, indices = got if got[0].ndim == x.ndim else (part.unsqueeze(dim) for part in got)
        demand(close(values, picked(x, indices, dim), 0, 0), "the indices point at other values")

    return check


RULES = {
    "qr": check_qr,
    "linalg.qr": check_qr,
    "geqrf": check_geqrf,
    "svd": check_svd(adjoint=False),
    "linalg.svd": check_svd(adjoint=True),
    "svd_lowrank": check_processed,
    "pca_lowrank": check_processed,
    "linalg.eigh": check_eigh,
    "linalg.eig": check_eig,
    "linalg.eigvals": check_eigvals,
    "linalg.ldl_factor": check_ldl,
    "linalg.ldl_factor_ex": check_ldl,
    "sort": check_order(position=0),
    "argsort": check_order(position=0),
    "topk": check_order(position=1),
    "kthvalue": check_picked(position=1),
    "median": check_picked(position=0),
    "nanmedian": check_picked(position=0),
    "mode": check_picked(position=0),
}


def symmetric_eigenvalues(values):
    """Functions of the eigenvalues that do not depend on their order."""
    return values.sum(-1), (values * values).sum(-1), (values * values * values).sum(-1)


def symmetric_eig(result):
    values, vectors = result
    sizes = abs(vectors)
    return *symmetric_eigenvalues(values), sizes.sum(-1), (sizes * abs(values).unsqueeze(-2)).sum(-1)


def magnitudes(result):
    return tuple(abs(factor) for factor in result)


# What derivatives are taken of, where the outputs themselves are not determined and the sample does not say.
DETERMINED = {
    "qr": magnitudes,
    "linalg.qr": magnitudes,
    "linalg.eig": symmetric_eig,
    "linalg.eigvals": symmetric_eigenvalues,
}


def same_for_equals(sample, expected, got):
    """The gradient of a vector, where any of several equal elements may have been chosen: all that they got together."""
    x = sample.input.detach()
    demand(x.ndim == 1, "gradients differ")
    values, group = x.unique(return_inverse=True)
    sums = [
        torch.zeros(len(values), dtype=torch.float64).index_add(0, group, g.detach().double()) for g in (expected, got)
    ]
    near(*sums, "the gradient of equal elements together")


SLOPES = {"sort": same_for_equals, "msort": same_for_equals, "mode": same_for_equals}
