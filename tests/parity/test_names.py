"""No operation of PyTorch's list computes other values with names, drops them by accident, or fails at them in other words.

Which operations refuse names, and which give results none of whose dimensions is one of the operands', is written down here.
"""

import pytest

from .harness import all_names
from .names_checks import outcomes_of, side_with_names

REFUSED = """
    _chunk_cat _segment_reduce as_strided as_strided_copy
    as_strided_scatter block_diag cholesky_inverse cholesky_solve corrcoef cov diag_embed istft kron linalg.ldl_solve
    linalg.lstsq linalg.lu_solve linalg.solve_triangular linalg.tensorinv linalg.tensorsolve lu lu_solve lu_unpack
    max_pool2d_with_indices_backward nn.functional.linear_cross_entropy nn.functional.pdist ormqr pca_lowrank reshape
    reshape_as stft svd_lowrank triangular_solve view view_as view_copy
"""
UNNAMED = """
    __getitem__ __rmatmul__ _unsafe_masked_index argwhere as_strided bincount cartesian_prod cat combinations diag
    diagflat diagonal diagonal_copy flatten histc histogram histogramdd linalg.diagonal linalg.eigvals linalg.eigvalsh
    linalg.svdvals masked_select matmul multinomial nanquantile new_empty new_empty_strided new_full new_ones new_zeros
    nn.functional.bilinear nn.functional.linear nonzero nonzero_static quantile ravel repeat_interleave searchsorted
    take take_along_dim unique unique_consecutive
"""


@pytest.fixture(scope="module")
def side():
    return side_with_names()


@pytest.mark.parametrize("name", all_names())
def test_names_go_through_or_are_refused(name, side):
    found, examples = outcomes_of(name, side)
    kinds = {kind for _, kind in found}
    wrong = kinds & {"broken"}
    wrong |= kinds & {"refused"} if name not in REFUSED.split() else set()
    wrong |= kinds & {"unnamed"} if name not in UNNAMED.split() else set()
    assert not wrong, "\n".join(f"{s} {k}: {text}" for (s, k), text in examples.items() if k in wrong)
