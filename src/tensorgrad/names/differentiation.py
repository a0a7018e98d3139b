"""Names at the ends of the tape: nodes know none, but a gradient has the names of the tensor that it is the gradient of."""

import functools
import importlib
import sys

from tensorgrad import autograd
from tensorgrad.autograd import differentiate
from tensorgrad.autograd.differentiate import sequence
from tensorgrad.func import levels
from tensorgrad.names import transforms
from tensorgrad.names.values import Named, handle, named, names_of, strip, unify
from tensorgrad.tensor import Tensor


def bare(value):
    """Tensors without names; what is no tensor as it is."""
    return strip(value) if isinstance(value, Tensor) else value


def bare_gradients(outputs, gradients):
    """The gradients to start from without names, which must go with those of the outputs."""
    if gradients is None:
        return None
    gradients = sequence(gradients)
    for output, gradient in zip(outputs, gradients, strict=False):
        if isinstance(gradient, Tensor) and isinstance(output, Tensor) and gradient._spec.names is not None:
            unify(names_of(output), names_of(gradient), "match gradient")
    return tuple(map(bare, gradients))


@functools.wraps(differentiate.backward)
def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    outputs = sequence(tensors)
    gradients = bare_gradients(outputs, grad_variables if grad_tensors is None else grad_tensors)
    sources = None if inputs is None else sequence(inputs)
    twins = None if sources is None else tuple(map(bare, sources))
    run_backward(tuple(map(bare, outputs)), gradients, retain_graph, create_graph, inputs=twins)
    for source, twin in zip(sources or (), twins or (), strict=True):
        if source is not twin and "_grad" in twin.__dict__:
            source.__dict__["_grad"] = twin.__dict__["_grad"]


@functools.wraps(differentiate.grad)
def grad(outputs, inputs, grad_outputs=None, *args, **options):
    outputs, inputs = sequence(outputs), sequence(inputs)
    results = run_grad(
        tuple(map(bare, outputs)), tuple(map(bare, inputs)), bare_gradients(outputs, grad_outputs), *args, **options
    )
    return tuple(
        handle(g, names_of(t)) if g is not None and isinstance(t, Tensor) and type(t._array) is Named else g
        for g, t in zip(results, inputs, strict=True)
    )


run_backward, run_grad = differentiate.backward, differentiate.grad


def backward_method(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


backward_method.__doc__ = Tensor.backward.__doc__


def grad_property(old):
    """`.grad`, with the names of its tensor."""

    def read(self):
        gradient = old.fget(self)
        if gradient is None or type(self._array) is not Named or gradient._spec.names is not None:
            return gradient
        known = gradient.__dict__.get("_with_names")
        if known is None or known._spec.names != self._spec.names or known._array.array is not gradient._array:
            known = gradient.__dict__["_with_names"] = handle(gradient, self._spec.names)
        return known

    def write(self, value):
        if isinstance(value, Tensor):
            unify(names_of(self), names_of(value), "match gradient")
            value = strip(value)
        old.fset(self, value)

    return property(read, write, old.fdel, old.__doc__)


def with_named_gradient(register):
    """register_hook: the hook is given the gradient with names, and may return one with names."""

    @functools.wraps(register)
    def call(self, hook):
        if type(self._array) is not Named:
            return register(self, hook)
        names = self._spec.names

        @functools.wraps(hook, updated=())
        def named_hook(gradient):
            return bare(hook(handle(gradient, names)))

        return register(self, named_hook)

    return call


def copied(deepcopy):
    @functools.wraps(deepcopy)
    def call(self, memo):
        if type(self._array) is not Named or id(self) in memo:
            return deepcopy(self, memo)
        names = self._spec.names
        named(self, None)
        try:
            return named(deepcopy(self, memo), names)
        finally:
            named(self, names)

    return call


def pickled(reduce):
    @functools.wraps(reduce)
    def call(self, protocol):
        if type(self._array) is not Named:
            return reduce(self, protocol)
        names = self._spec.names
        named(self, None)
        try:
            return rebuild, (names, *reduce(self, protocol))
        finally:
            named(self, names)

    return call


def rebuild(names, make, parts):
    """A tensor with names from its pickled parts."""
    return named(make(*parts), names)


def install():
    """From now on transforms and backward passes meet tensors with names."""
    levels.names = transforms
    Tensor.backward, Tensor.grad = backward_method, grad_property(find("grad"))
    Tensor.register_hook = with_named_gradient(find("register_hook"))
    Tensor.__deepcopy__, Tensor.__reduce_ex__ = copied(find("__deepcopy__")), pickled(find("__reduce_ex__"))
    functional = importlib.import_module("tensorgrad.autograd.functional")
    for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"):
        setattr(functional, name, transforms.functional(name, getattr(functional, name)))
    forward = importlib.import_module("tensorgrad.autograd.forward_ad")
    forward.make_dual, forward.unpack_dual = (
        transforms.make_dual(forward.make_dual),
        transforms.unpack_dual(forward.unpack_dual),
    )
    autograd.backward, autograd.grad = backward, grad
    for name in ("gradcheck", "gradgradcheck"):
        setattr(autograd, name, transforms.checked(getattr(autograd, name)))
    for name, module in list(sys.modules.items()):
        if name.startswith("tensorgrad.autograd.") or not name.startswith("tensorgrad"):
            space = getattr(module, "__dict__", {})
            for word, old, new in (("backward", run_backward, backward), ("grad", run_grad, grad)):
                if space.get(word) is old and name != "tensorgrad.autograd.differentiate":
                    space[word] = new


def find(name):
    """A member of Tensor as its class has it."""
    return next(vars(owner)[name] for owner in Tensor.__mro__ if name in vars(owner))
