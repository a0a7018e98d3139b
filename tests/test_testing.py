"""torch.testing: comparing, and making inputs."""

import pytest
from subject import raises, torch

assert_close, make_tensor = torch.testing.assert_close, torch.testing.make_tensor


def test_what_is_close():
    x = torch.rand(3)
    assert_close(x, x + 1e-7)
    assert_close([x, {"a": (x, 1.0)}, None], [x, {"a": [x, 1.0]}, None])
    assert_close(torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")]), equal_nan=True)
    assert_close(x, x.double(), check_dtype=False)
    assert_close(torch.tensor([1.0, 2.0]).bfloat16(), torch.tensor([1.0, 2.01]).bfloat16())
    assert_close(3, 4, rtol=0.5, atol=0)


def test_where_and_by_how_much_values_differ():
    with raises(AssertionError, "Tensor-likes are not close!", "Mismatched elements: 1 / 3 (33.3%)",
                "Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)",
                "Greatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)"):  # fmt: skip
        assert_close(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 4.0]))
    with raises(AssertionError, "Tensor-likes are not equal!", "Greatest absolute difference: 199 at index (1,)"):
        assert_close(torch.tensor([1, 200], dtype=torch.uint8), torch.tensor([3, 1], dtype=torch.uint8))
    with raises(
        AssertionError, "Scalars are not close!\n\nExpected 3.0 but got 2.0.", "The failure occurred for item [1]['a']"
    ):
        assert_close([1, {"a": 2.0}], [1, {"a": 3.0}])
    with raises(AssertionError, "my words: Tensor-likes"):
        assert_close(torch.tensor([1.0]), torch.tensor([2.0]), msg=lambda text: f"my words: {text}")


def test_values_of_other_kinds():
    x = torch.ones(2)
    for other, text in (
        (x.double(), "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."),
        (torch.ones(3), "The values for attribute 'shape' do not match: torch.Size([2]) != torch.Size([3])."),
        (None, "None mismatch: tensor([1., 1.]) is not None"),
    ):
        with raises(AssertionError, text):
            assert_close(x, other)
    with raises(TypeError, "No comparison pair was able to handle inputs of type"):
        assert_close(x, "a")
    with raises(ValueError, "Both 'rtol' and 'atol' must be either specified or omitted, but got no atol."):
        assert_close(x, x, rtol=1.0)
    with raises(AssertionError, "The length of the sequences mismatch: 1 != 2"):
        assert_close([x], [x, x])
    with raises(
        AssertionError, "Missing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']"
    ):
        assert_close({"a": x}, {"b": x})


def test_making_tensors():
    x = make_tensor((4, 5), dtype=torch.float64, device="cpu", low=2, high=3, requires_grad=True, noncontiguous=True)
    assert x.shape == (4, 5) and x.requires_grad and not x.is_contiguous() and bool(((x >= 2) & (x < 3)).all())
    assert bool((make_tensor(1000, dtype=torch.int8, device="cpu", exclude_zero=True) != 0).all())
    assert make_tensor(2, 3, dtype=torch.complex64, device="cpu").shape == (2, 3)
    with raises(ValueError, "`low` must be less than `high`, but got 2 >= 1"):
        make_tensor(2, dtype=torch.float32, device="cpu", low=2, high=1)
    with raises(ValueError, "`requires_grad=True` is not supported for boolean and integral dtypes"):
        make_tensor(2, dtype=torch.int64, device="cpu", requires_grad=True)
    with raises(
        ValueError,
        "specified by `low` and `high` is [300, 400), but torch.uint8 only supports [0, 256)",
    ):
        make_tensor(2, dtype=torch.uint8, device="cpu", low=300, high=400)
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        make_tensor(2, dtype=torch.float32, device="cpu", low=1, high=1)
