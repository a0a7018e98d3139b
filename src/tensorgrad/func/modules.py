"""Modules as functions of their parameters, so that transforms can differentiate and map them.

>>> model = torch.nn.Linear(2, 1)
>>> weights = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
>>> torch.func.functional_call(model, weights, torch.tensor([3., 4.]))
tensor([7.])
"""

from tensorgrad.tensor import Tensor


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with these tensors in the place of its parameters and buffers; the module stays as it is.

    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> loss = lambda weights, x: torch.func.functional_call(model, weights, x).sum()
    >>> torch.func.grad(loss)({"weight": torch.ones(1, 2)}, torch.tensor([3., 4.]))
    {'weight': tensor([[3., 4.]])}
    """
    given = _joined(parameter_and_buffer_dicts)
    places = dict(module.named_parameters(remove_duplicate=False))
    places.update(module.named_buffers(remove_duplicate=False))
    if strict:
        _check_names(module, given, places)
    if tie_weights:
        given = _with_twins(given, places)
    swaps = [(*_home(module, name), _checked(value)) for name, value in given.items()]
    before = []
    try:
        for owner, word, value in swaps:
            table = next((t for t in (owner._parameters, owner._buffers) if word in t), None)
            if table is None:
                before.append((owner.__dict__, word, owner.__dict__.get(word, _ABSENT)))
                owner.__dict__[word] = value
                continue
            before.append((table, word, table[word]))
            table[word] = value
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for table, word, value in reversed(before):
            if value is _ABSENT:
                del table[word]
            else:
                table[word] = value


_ABSENT = object()


def _joined(given):
    """One dictionary of one or several."""
    if isinstance(given, dict):
        return given
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    if not all(isinstance(each, dict) for each in given):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for each in given for name in each]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for each in given for name, value in each.items()}


def _check_names(module, given, places):
    told = [f"\n\tUnexpected key(s): {_listed(set(given) - set(places))}."] if set(given) - set(places) else []
    if set(places) - set(given):
        told.append(f"\n\tMissing key(s): {_listed(set(places) - set(given))}.")
    if told:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:" + "".join(told))


def _listed(names):
    return ", ".join(map(repr, sorted(names)))


def _with_twins(given, places):
    """A tensor for one of several names of the same parameter goes to all of them."""
    names_of = {}
    for name, tensor in places.items():
        names_of.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in names_of.values():
        mine = [name for name in names if name in given]
        if len(mine) > 1 and any(given[name] is not given[mine[0]] for name in mine):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(mine)}, which are tied. Consider using "
                "tie_weights=False"
            )
        if mine:
            result.update(dict.fromkeys(names, given[mine[0]]))
    return result


def _home(module, name):
    """(module, attribute) of a dotted name."""
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    *path, word = name.split(".")
    for part in path:
        inner = module._modules.get(part)
        if inner is None:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = inner
    return module, word


def _checked(value):
    if not isinstance(value, Tensor) and value is not None:
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    return value


def stack_module_state(models):
    """(parameters, buffers) of several models of one kind, stacked: what vmap over an ensemble takes.

    >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = torch.func.stack_module_state(models)
    >>> parameters["weight"].shape, buffers
    (tensorgrad.Size([4, 3, 2]), {})
    """
    if not len(models):
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    models = list(models)
    if not (all(model.training for model in models) or not any(model.training for model in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {
        name: _stacked([dict(model.named_parameters())[name] for model in models], name)
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stacked([dict(model.named_buffers())[name] for model in models], name)
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers


def _stacked(tensors, name):
    from tensorgrad.autograd.modes import no_grad
    from tensorgrad.ops.shape import stack

    wants = [tensor.requires_grad for tensor in tensors]
    if len(set(wants)) > 1:
        raise RuntimeError(f"Expected {name!r} of all models to have the same .requires_grad")
    if tensors[0].is_leaf:
        with no_grad():
            return stack(tensors).requires_grad_(wants[0])
    return stack(tensors)


def replace_all_batch_norm_modules_(root):
    """Let no batch normalization in a module keep running statistics, which a mapped function cannot write to.

    >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    >>> torch.func.replace_all_batch_norm_modules_(net)[0].track_running_stats
    False
    """
    from tensorgrad import nn

    for module in root.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func, *, remove="mutations"):
    """The same function. PyTorch's takes in-place operations out of traced programs; what the function returns, and what it
    writes into its arguments, is the same with them and without, and here no program is traced.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.ones(2))
    tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
            "out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with "
            "their non-aliasing counterparts, {view}_copy.\n"
        )
    import functools

    @functools.wraps(func, updated=())
    def wrapped(*args, **kwargs):
        return func(*args, **kwargs)

    return wrapped


def debug_unwrap(tensor, *, recurse=True):
    """What is inside a tensor of a transform, for a debugger: all rows of one inside vmap.

    >>> _ = torch.vmap(lambda row: print(torch.func.debug_unwrap(row)) or row)(torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    from tensorgrad.func.levels import Payload

    if not isinstance(tensor, Tensor):
        raise ValueError(f"Expected torch.Tensor, got {type(tensor)}")
    while isinstance(tensor._array, Payload):
        tensor = tensor._array.inside()[0]
        if not recurse:
            break
    return tensor
