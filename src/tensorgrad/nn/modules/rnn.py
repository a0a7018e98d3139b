"""Recurrent networks: RNN, LSTM, GRU over sequences, and their cells for one step."""

import math
import numbers
import warnings

from tensorgrad.nn import init
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.parameter import Parameter
from tensorgrad.nn.utils.rnn import PackedSequence
from tensorgrad.ops.creation import empty, zeros
from tensorgrad.ops.index import find

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}


class RNNBase(Module):
    """What the recurrent networks share: their weights, layer by layer and direction by direction.

    >>> torch.nn.RNNBase("GRU", 3, 4).weight_ih_l0.shape
    tensorgrad.Size([12, 3])
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
                     "proj_size"]  # fmt: skip

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_sizes(dropout)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        rows, output_size = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._flat_weights_names, self._all_weights = [], []
        for layer in range(num_layers):
            layer_input = input_size if layer == 0 else output_size * self.num_directions
            for suffix in ("", "_reverse")[: self.num_directions]:
                shapes = {"weight_ih": (rows, layer_input), "weight_hh": (rows, output_size)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = []
                for name, shape in shapes.items():
                    names.append(f"{name}_l{layer}{suffix}")
                    setattr(self, names[-1], Parameter(empty(shape, device=device, dtype=dtype)))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_sizes(self, dropout):
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name, kind in (("input_size", int), ("hidden_size", int), ("bias", bool), ("batch_first", bool)):
            if not isinstance(getattr(self, name), kind):
                found = type(getattr(self, name)).__name__
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {found}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def num_directions(self):
        """2 if it reads in both directions."""
        return 2 if self.bidirectional else 1

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self):
        """The weights of each layer and direction.

        >>> len(torch.nn.LSTM(2, 3, num_layers=2).all_weights)
        2
        """
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Nothing to do: only CUDA's kernels want the weights side by side.

        >>> torch.nn.LSTM(2, 3).flatten_parameters()
        """

    def reset_parameters(self):
        """Draw the weights again."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input, batch_sizes):
        """Raise for an input of the wrong kind."""
        weight = self._parameters[self._flat_weights_names[0]] if self._flat_weights_names else None
        if weight is not None and weight.dtype is not input.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_shape(self, batch, size):
        return self.num_layers * self.num_directions, batch, size

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """Raise for a state of the wrong shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.shape)))

    # One path for all: states are a tuple of tensors, of one (RNN, GRU) or of two (LSTM).

    def _check_states(self, states, batch):
        self.check_hidden_size(states[0], self._state_shape(batch, self.proj_size or self.hidden_size))

    def _check_state_dims(self, states, dims):
        if states[0].dim() != dims:
            kind = "batched 3-D" if dims == 3 else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {states[0].dim()}-D tensor")

    def _states(self, hx, batch, input):
        """The states to start from, zeros if none were given."""
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: 2 if self.mode == "LSTM" else 1]
        if hx is None:
            return tuple(zeros(self._state_shape(batch, size), dtype=input.dtype) for size in sizes)
        return tuple(hx) if self.mode == "LSTM" else (hx,)

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            what = "instead" if self.mode == "LSTM" else "tensor instead"
            name = "RNN" if self.mode.startswith("RNN") else self.mode
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D {what}")
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        given = None if hx is None else tuple(hx) if self.mode == "LSTM" else (hx,)
        if given is not None:
            self._check_state_dims(given, input.dim())
        if not batched:
            input = input.unsqueeze(batch_dim)
            given = None if given is None else tuple(state.unsqueeze(1) for state in given)
        batch = input.size(batch_dim)
        states = self._states(None, batch, input) if given is None else given
        self.check_input(input, None)
        self._check_states(states, batch)
        function = find("", _FUNCTIONS[self.mode])
        start = list(states) if self.mode == "LSTM" else states[0]
        output, *ends = function(input, start, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                                 self.bidirectional, self.batch_first)  # fmt: skip
        if not batched:
            output, ends = output.squeeze(batch_dim), [end.squeeze(1) for end in ends]
        return output, tuple(ends) if self.mode == "LSTM" else ends[0]

    def _forward_packed(self, packed, hx):
        input, batch_sizes, sorted_indices, unsorted_indices = packed
        batch = int(batch_sizes[0])
        states = self._states(hx, batch, input)
        if hx is not None:
            states = tuple(_permuted(state, sorted_indices) for state in states)
        self.check_input(input, batch_sizes)
        self._check_states(states, batch)
        function = find("", _FUNCTIONS[self.mode])
        start = list(states) if self.mode == "LSTM" else states[0]
        output, *ends = function(input, batch_sizes, start, self._flat_weights, self.bias, self.num_layers, self.dropout,
                                 self.training, self.bidirectional)  # fmt: skip
        ends = tuple(_permuted(end, unsorted_indices) for end in ends)
        output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output, ends if self.mode == "LSTM" else ends[0]

    def permute_hidden(self, hx, permutation):
        """A state with its batch in another order."""
        return _permuted(hx, permutation)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def __setstate__(self, state):
        state = dict(state)
        state.pop("_flat_weights", None)
        state.pop("_flat_weight_refs", None)
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)


def _permuted(state, order):
    return state if order is None else state.index_select(1, order)


def _refuse_projection(kwargs):
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu, at every step.

    >>> output, state = torch.nn.RNN(3, 4)(torch.ones(5, 2, 3)); output.shape, state.shape
    (tensorgrad.Size([5, 2, 4]), tensorgrad.Size([1, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        _refuse_projection(kwargs)
        if len(args) > 3:
            self.nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: a state and a memory, with gates.

    >>> output, (h, c) = torch.nn.LSTM(3, 4)(torch.ones(5, 2, 3)); output.shape, c.shape
    (tensorgrad.Size([5, 2, 4]), tensorgrad.Size([1, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape of the memory."""
        return self._state_shape(self._batch(input, batch_sizes), self.hidden_size)

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape of the state."""
        return self._state_shape(self._batch(input, batch_sizes), self.proj_size or self.hidden_size)

    def _batch(self, input, batch_sizes):
        return int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)

    def _check_states(self, states, batch):
        shape = self._state_shape(batch, self.proj_size or self.hidden_size)
        self.check_hidden_size(states[0], shape, "Expected hidden[0] size {}, got {}")
        shape = self._state_shape(batch, self.hidden_size)
        self.check_hidden_size(states[1], shape, "Expected hidden[1] size {}, got {}")

    def _check_state_dims(self, states, dims):
        if any(state.dim() != dims for state in states):
            found = ", ".join(f"{state.dim()}-D" for state in states)
            kind = "batched 3-D" if dims == 3 else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx and cx should also be {dims}-D but got ({found}) tensors")

    def permute_hidden(self, hx, permutation):
        """State and memory with their batch in another order."""
        return tuple(_permuted(state, permutation) for state in hx)


class GRU(RNNBase):
    """Gated recurrent units.

    >>> output, state = torch.nn.GRU(3, 4, bidirectional=True)(torch.ones(5, 2, 3)); output.shape, state.shape
    (tensorgrad.Size([5, 2, 8]), tensorgrad.Size([2, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share: their weights.

    >>> torch.nn.RNNCellBase(3, 4, True, 3).weight_ih.shape
    tensorgrad.Size([12, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size

        def made(*shape):
            return Parameter(empty(shape, device=device, dtype=dtype))

        self.weight_ih, self.weight_hh = made(rows, input_size), made(rows, hidden_size)
        self.register_parameter("bias_ih", made(rows) if bias else None)
        self.register_parameter("bias_hh", made(rows) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw the weights again."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, function, input, *states):
        """One step, for a batch or for one sample."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for position, state in enumerate(states):
            if state is not None and state.dim() not in (1, 2):
                which = f"hx[{position}]" if name == "LSTMCell" else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            states = [None if state is None else state.unsqueeze(0) for state in states]
        start = zeros((input.size(0), self.hidden_size), dtype=input.dtype)
        states = [start if state is None else state for state in states]
        result = find("", function)(
            input,
            tuple(states) if len(states) > 1 else states[0],
            self.weight_ih,
            self.weight_hh,
            self.bias_ih,
            self.bias_hh,
        )
        if batched:
            return result
        return tuple(part.squeeze(0) for part in result) if isinstance(result, tuple) else result.squeeze(0)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """One step of an RNN.

    >>> torch.nn.RNNCell(3, 4)(torch.ones(2, 3)).shape
    tensorgrad.Size([2, 4])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}_cell", input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    >>> h, c = torch.nn.LSTMCell(3, 4)(torch.ones(2, 3)); c.shape
    tensorgrad.Size([2, 4])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step("lstm_cell", input, *((None, None) if hx is None else hx))


class GRUCell(RNNCellBase):
    """One step of a GRU.

    >>> torch.nn.GRUCell(3, 4)(torch.ones(2, 3)).shape
    tensorgrad.Size([2, 4])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step("gru_cell", input, hx)
