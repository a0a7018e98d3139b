"""What a graph saves, read by hand, packed by hooks, and freed."""


def main(torch):
    graph = torch.autograd.graph
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    constant = torch.tensor([4.0, 5.0, 6.0])
    y = x * constant
    power = x**3
    e = x.exp()
    results = [y.grad_fn._saved_self, y.grad_fn._saved_other, power.grad_fn._saved_self, power.grad_fn._saved_exponent]
    results += [e.grad_fn._saved_result, y.grad_fn.next_functions[1], x.sum(0, keepdim=True).grad_fn._saved_keepdim]
    log = []

    def pack(tensor):
        log.append(f"pack {tensor.tolist()}")
        return tensor.tolist()

    def unpack(numbers):
        log.append(f"unpack {numbers}")
        return torch.tensor(numbers) * 2

    with graph.saved_tensors_hooks(pack, unpack):
        z = (x * x).sin() + constant
    results.append(torch.autograd.grad(z.sum(), x, retain_graph=True)[0])
    print("\n".join(log))
    y.sum().backward()
    results += [x.grad.clone(), lambda: y.grad_fn._saved_other, lambda: y.sum().backward()]
    with graph.save_on_cpu():
        w = x.tanh()
    w.sum().backward()
    results.append(x.grad)

    def forbidden():
        with graph.disable_saved_tensors_hooks("not now"), graph.saved_tensors_hooks(pack, unpack):
            pass

    def wrong_answer():
        with graph.saved_tensors_hooks(lambda t: t, lambda t: "text"):
            z = x.sin()
        z.sum().backward()

    def bumped():
        z = x * x
        graph.increment_version(x)
        z.sum().backward()

    return [*results, forbidden, wrong_answer, bumped]
