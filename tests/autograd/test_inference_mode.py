"""Inference mode: tensors that will never be part of a graph."""

import pytest
from subject import raises, torch


def test_inference_mode_records_nothing_and_makes_inference_tensors():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        y = x * 2
    assert y.is_inference() and not y.requires_grad
    assert not x.is_inference() and not torch.is_inference_mode_enabled()


def test_an_inference_tensor_cannot_be_saved_for_backward():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = torch.ones(2)
    with raises(
        RuntimeError,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
        "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
        "in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.",
    ):
        x * y


def test_a_clone_of_an_inference_tensor_is_a_normal_one():
    with torch.inference_mode():
        y = torch.ones(2)
    copy = y.clone()
    assert not copy.is_inference()
    (torch.ones(2, requires_grad=True) * copy).sum().backward()


def test_an_inference_tensor_may_be_used_where_nothing_is_saved():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = torch.ones(2)
    (x + y).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_an_inference_tensor_is_not_written_outside():
    with torch.inference_mode():
        y = torch.ones(2)
        y.add_(1)
    with raises(RuntimeError, "Inplace update to inference tensor outside InferenceMode is not allowed."):
        y.add_(1)


def test_an_inference_tensor_keeps_no_version():
    with torch.inference_mode():
        y = torch.ones(2)
    with raises(RuntimeError, "Inference tensors do not track version counter."):
        y._version


def test_an_inference_tensor_cannot_require_gradients_outside():
    with torch.inference_mode():
        y = torch.ones(2)
    with raises(RuntimeError, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."):
        y.requires_grad_()


def test_it_decorates():
    @torch.inference_mode()
    def function(x):
        return x * 2

    assert function(torch.ones(2, requires_grad=True)).is_inference()
    assert not torch.is_inference_mode_enabled()


def test_it_can_be_switched_off_inside():
    with torch.inference_mode(), torch.inference_mode(False):
        y = torch.ones(2, requires_grad=True) * 2
        assert y.requires_grad and not y.is_inference()


def test_it_is_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), torch.inference_mode():
        1 / 0
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


def test_a_view_of_a_normal_tensor_made_inside_is_a_normal_tensor():
    x = torch.ones(4)
    with torch.inference_mode():
        y = x[:2]
    assert not y.is_inference()
    y.add_(1)
    assert x.tolist() == [2.0, 2.0, 1.0, 1.0]
