"""Which family holds each public name and method. Written by `python -m tensorgrad.ops.index`."""

NAMES = {
    "nn.functional": {
        "cross_entropy": "losses",
        "mse_loss": "losses",
        "nll_loss": "losses",
    },
}

METHODS = {
}
