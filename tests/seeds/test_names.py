"""The programs of the seeds whose dimensions have names, which PyTorch no longer has."""

import pytest
from subject import IS_TORCH, raises, torch

pytestmark = pytest.mark.skipif(IS_TORCH, reason="PyTorch has no names any more")


def test_a_product_takes_the_outer_names():
    state = torch.ones(9, 5, names=("batch", "D"))
    transition = torch.randn(5, 5, names=("in", "out"))
    assert (state @ transition).names == ("batch", "out")


def test_a_sum_of_dimensions_with_different_names_is_refused():
    x = torch.ones(3, names=("X",))
    z = torch.ones(3, names=("Z",))
    with raises(
        RuntimeError,
        "Error when attempting to broadcast dims ['X'] and dims ['Z']: "
        "dim 'X' and dim 'Z' are at the same position from the right but do not match.",
    ):
        x + z
