"""Back and forth between tensors, arrays, lists and numbers, with copies and pickles."""

import copy
import pickle

import numpy as np


def main(torch):
    x = torch.arange(6.0).reshape(2, 3)
    array = x.numpy()
    array[0, 0] = 50
    x[1, 2] = -1
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    (leaf * 3).sum().backward()
    twin = copy.deepcopy(leaf)
    pair = copy.deepcopy((x, x[0]))
    pair[0][0, 1] = 77
    restored = pickle.loads(pickle.dumps({"x": x.T, "leaf": leaf, "dtype": torch.float16}))
    results = [
        x,
        array,
        x.T.numpy(),
        x.tolist(),
        x[0, 0].item(),
        float(x[0, 1]),
        int(x[1, 2]),
        twin,
        twin.grad,
        pair[1],
    ]
    results += [restored["x"], restored["leaf"], restored["dtype"], np.asarray(x).sum(), x.bool().any().item()]
    results += [x.to(torch.int32), x.double().numpy(), x.half(), x.type(torch.bool), x.long() is x, x.float() is x]
    print(len(x), [row.sum().item() for row in x], 50 in x, 51 in x, f"{x[0, 0]:.1f}", x.shape, bool(x[0, 0]))
    refused = [
        lambda: x.item(),
        lambda: float(x),
        lambda: bool(x),
        lambda: bool(torch.tensor([])),
        lambda: len(x[0, 0]),
        lambda: list(x[0, 0]),
        lambda: leaf.numpy(),
        lambda: np.asarray(leaf),
        lambda: copy.deepcopy(leaf * 2),
        lambda: "a" in x,
        lambda: f"{x:.2f}",
        lambda: x + "a",
        lambda: x < None,
        lambda: x.nothing,
        lambda: range(3)[torch.tensor(1.5)],
        lambda: torch.ones(1, dtype=torch.bfloat16).numpy(),
        lambda: torch.equal(x, 3),
        lambda: torch.allclose(x, x.double()),
    ]
    return [*results, *refused]
