"""Anomaly mode: a NaN in backward names the operation, and shows where its forward call was."""

import warnings

import pytest
from subject import raises, torch

autograd = torch.autograd


def nan_in_backward():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return x, x.sqrt() * 0  # 0 * inf


def caught_from(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in caught]


def test_without_it_a_nan_passes():
    x, y = nan_in_backward()
    y.sum().backward()
    assert x.grad.isnan().tolist() == [True, False]


def test_a_nan_names_the_operation():
    def work():
        with autograd.set_detect_anomaly(True):
            _, y = nan_in_backward()
            with raises(RuntimeError, "Function 'SqrtBackward0' returned nan values in its 0th output."):
                y.sum().backward()

    messages = caught_from(work)
    assert any(
        "Error detected in SqrtBackward0. Traceback of forward call that caused the error:" in m for m in messages
    )


def test_the_traceback_points_at_the_line_of_the_forward_call():
    def work():
        with autograd.set_detect_anomaly(True):
            _, y = nan_in_backward()
            with raises(RuntimeError, "returned nan values"):
                y.sum().backward()

    message = next(m for m in caught_from(work) if "Traceback of forward call" in m)
    assert "in nan_in_backward" in message and "return x, x.sqrt() * 0" in message
    assert __file__ in message


def test_a_graph_made_before_has_no_traceback():
    _, y = nan_in_backward()

    def work():
        with autograd.set_detect_anomaly(True), raises(RuntimeError, "Function 'SqrtBackward0' returned nan values"):
            y.sum().backward()

    assert any(
        "Error detected in SqrtBackward0. No forward pass information available. "
        "Enable detect anomaly during forward pass for more information." in message
        for message in caught_from(work)
    )


@pytest.mark.filterwarnings("ignore")
def test_the_number_of_the_output_is_named():
    x, y = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    with (
        autograd.set_detect_anomaly(True),
        raises(RuntimeError, "Function 'DivBackward0' returned nan values in its 0"),
    ):
        (x / y).sum().backward(inputs=[x, y], gradient=torch.tensor(0.0))


def test_infinity_is_no_anomaly():
    x = torch.tensor([0.0], requires_grad=True)
    with autograd.set_detect_anomaly(True):
        x.sqrt().sum().backward()
    assert x.grad.isinf().all()


def test_nan_that_no_gradient_carries_is_no_anomaly():
    x = torch.tensor([float("nan")], requires_grad=True)
    with autograd.set_detect_anomaly(True):
        (x + 1).sum().backward()
    assert x.grad.tolist() == [1.0]


def test_the_check_for_nan_can_be_left_out():
    with autograd.set_detect_anomaly(True, check_nan=False):
        x, y = nan_in_backward()
        y.sum().backward()
    assert x.grad.isnan().any()


class Faulty(autograd.Function):
    @staticmethod
    def forward(ctx, x, kind):
        ctx.kind = kind
        return x * 2

    @staticmethod
    def backward(ctx, g):
        if ctx.kind == "nan":
            return g * float("nan"), None
        raise RuntimeError("mine")


@pytest.mark.filterwarnings("ignore")
def test_functions_of_ones_own_are_watched():
    with (
        autograd.set_detect_anomaly(True),
        raises(RuntimeError, "Function 'FaultyBackward' returned nan values in its"),
    ):
        Faulty.apply(torch.ones(2, requires_grad=True), "nan").sum().backward()


def test_an_error_in_a_function_of_ones_own_shows_the_forward_call():
    def work():
        with autograd.set_detect_anomaly(True):
            y = Faulty.apply(torch.ones(2, requires_grad=True), "error").sum()
            with raises(RuntimeError, "mine"):
                y.backward()

    assert any(
        "Error detected in FaultyBackward. Traceback of forward call" in message for message in caught_from(work)
    )


@pytest.mark.filterwarnings("ignore")
def test_the_error_for_a_changed_value_gives_another_hint():
    with autograd.set_detect_anomaly(True):
        y = torch.ones(2, requires_grad=True) * 1
        z = y * y
        y.add_(1)
        with raises(
            RuntimeError,
            "is at version 1; expected version 0 instead. Hint: the backtrace further above shows the operation that "
            "failed to compute its gradient. The variable in question was changed in there or anywhere later.",
        ):
            z.sum().backward()


def test_the_mode_is_a_context_a_function_and_known():
    assert not torch.is_anomaly_enabled()
    with autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
        with autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    autograd.set_detect_anomaly(True)
    try:
        assert torch.is_anomaly_enabled()
    finally:
        autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()


def test_detect_anomaly_warns_that_it_is_slow():
    def work():
        with autograd.detect_anomaly():
            assert torch.is_anomaly_enabled()

    assert caught_from(work) == [
        "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
        "debugging."
    ]
    assert not torch.is_anomaly_enabled()
