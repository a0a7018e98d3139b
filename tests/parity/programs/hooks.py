"""Every kind of hook, in the order in which they speak."""


def main(torch):
    order = []

    def say(name, answer=None):
        def hook(*gradients):
            order.append(name)
            return answer(*gradients) if answer else None

        return hook

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = y.exp().sum()
    y.register_hook(say("y first"))
    handle = y.register_hook(say("y second", lambda g: g * 2))
    y.register_hook(say("y third"))
    y.grad_fn.register_prehook(say("y node before", lambda outputs: (outputs[0] + 1,)))
    y.grad_fn.register_hook(say("y node after", lambda inputs, outputs: (inputs[0] * 10, None)))
    x.register_hook(say("x"))
    x.register_post_accumulate_grad_hook(say("x has its gradient"))
    y.retain_grad()
    z.backward(retain_graph=True)
    first = [x.grad.clone(), y.grad.clone()]
    handle.remove()
    print(order)
    order.clear()
    z.backward()
    print(order)
    wrong = torch.ones(2, requires_grad=True)
    wrong.register_hook(lambda g: torch.ones(3))

    def of_a_constant():
        torch.ones(2).register_hook(lambda g: g)

    return [*first, x.grad, y.grad, y, lambda: wrong.sum().backward(), of_a_constant, lambda: z.backward()]
