"""The graph of a small formula, walked by hand and printed."""


def main(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.ones(3, 2, requires_grad=True)
    hidden = torch.relu((x.unsqueeze(0) @ w).squeeze(0) + 0.5)
    parts = torch.cat([hidden[:1] * 2, hidden[1:].exp(), x.unsqueeze(0).t().mean(0)])
    first, *_ = parts.split([1, 2])
    written = parts.clone()
    written[0] = first.sum()
    written.view(-1)[2:].div_(2)
    root = torch.where(written > 1, written, written**2).log_softmax(0).max() - parts.std() / x.prod()

    seen = {}

    def walk(node, depth):
        if node is None:
            print("  " * depth + "None")
            return
        name = node.name().split("::")[-1]
        if node in seen:
            print("  " * depth + f"{name} again")
            return
        seen[node] = len(seen)
        shape = tuple(node.variable.shape) if hasattr(node, "variable") else ""
        print("  " * depth + f"{name} {shape}".rstrip())
        for following, number in node.next_functions:
            assert number >= 0
            walk(following, depth + 1)

    walk(root.grad_fn, 0)
    root.backward()
    edge = torch.autograd.graph.get_gradient_edge(hidden)
    return [
        root,
        x.grad,
        w.grad,
        edge.output_nr,
        edge.node is hidden.grad_fn,
        lambda: torch.autograd.graph.get_gradient_edge(torch.ones(1)),
        [tensor.is_leaf for tensor in (x, hidden, root, hidden.detach())],
    ]
