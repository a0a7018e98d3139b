"""What is timed. Each workload takes a module with PyTorch's API and returns a step: one call is one unit of work.

The same lines run under PyTorch and under tensorgrad. The first line of a docstring says what a step is.
"""


def chain(torch):
    """200 operations on 8x8 tensors, forward and backward"""
    a, b = torch.rand(8, 8, requires_grad=True), torch.rand(8, 8)

    def step():
        y = a
        for _ in range(100):
            y = y * b + a
        y.sum().backward()
        a.grad = None

    return step


def add(torch):
    """100 times a + b on 8x8 tensors that require gradients"""
    a, b = torch.rand(8, 8, requires_grad=True), torch.rand(8, 8, requires_grad=True)

    def step():
        for _ in range(100):
            a + b

    return step


def mul(torch):
    """100 times a * b on 8x8 tensors that require gradients"""
    a, b = torch.rand(8, 8, requires_grad=True), torch.rand(8, 8, requires_grad=True)

    def step():
        for _ in range(100):
            a * b

    return step


def add_backward(torch):
    """a + b on 8x8 tensors, forward and backward"""
    a, b = torch.rand(8, 8, requires_grad=True), torch.rand(8, 8, requires_grad=True)
    gradient = torch.ones(8, 8)

    def step():
        (a + b).backward(gradient)
        a.grad = b.grad = None

    return step


def mul_backward(torch):
    """a * b on 8x8 tensors, forward and backward"""
    a, b = torch.rand(8, 8, requires_grad=True), torch.rand(8, 8, requires_grad=True)
    gradient = torch.ones(8, 8)

    def step():
        (a * b).backward(gradient)
        a.grad = b.grad = None

    return step


WORKLOADS = {workload.__name__: workload for workload in (chain, add, mul, add_backward, mul_backward)}
