"""Walking through a module: its parameters, buffers and submodules, by name."""

from tensorgrad.nn.parameter import Parameter


class MembersMixin:
    """What a module holds, and what its submodules hold."""

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """The parameters of this module and its submodules, with their names.

        >>> [name for name, parameter in torch.nn.Linear(2, 2).named_parameters()]
        ['weight', 'bias']
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters of this module and its submodules.

        >>> [parameter.shape for parameter in torch.nn.Linear(3, 2).parameters()]
        [tensorgrad.Size([2, 3]), tensorgrad.Size([2])]
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """The buffers of this module and its submodules, with their names.

        >>> [name for name, buffer in torch.nn.BatchNorm1d(2).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers of this module and its submodules.

        >>> next(torch.nn.BatchNorm1d(2).buffers())
        tensor([0., 0.])
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self):
        """The modules right below this one, with their names.

        >>> list(torch.nn.Sequential(torch.nn.ReLU()).named_children())
        [('0', ReLU())]
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules right below this one.

        >>> list(torch.nn.Sequential(torch.nn.ReLU()).children())
        [ReLU()]
        """
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module and all below it, with their names; this one's is "".

        >>> [name for name, module in torch.nn.Sequential(torch.nn.ReLU()).named_modules()]
        ['', '0']
        """
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """This module and all below it.

        >>> [type(module).__name__ for module in torch.nn.Sequential(torch.nn.ReLU()).modules()]
        ['Sequential', 'ReLU']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def get_submodule(self, target):
        """The submodule with a name such as "encoder.0".

        >>> torch.nn.Sequential(torch.nn.ReLU()).get_submodule("0")
        ReLU()
        """
        module = self
        for name in target.split(".") if target else ():
            found = _member(module, name)
            if not hasattr(found, "_modules"):
                raise AttributeError(f"`{name}` is not an nn.Module")
            module = found
        return module

    def set_submodule(self, target, module, strict=False):
        """Put a module at a name such as "encoder.0"; with `strict`, only where one is already.

        >>> model = torch.nn.Sequential(torch.nn.ReLU()); model.set_submodule("0", torch.nn.Tanh()); model
        Sequential(
          (0): Tanh()
        )
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if not hasattr(module, "_modules"):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        if strict or hasattr(parent, name):
            found = _member(parent, name)
            if not hasattr(found, "_modules"):
                raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter with a name such as "encoder.0.weight".

        >>> torch.nn.Linear(3, 2).get_parameter("weight").shape
        tensorgrad.Size([2, 3])
        """
        path, _, name = target.rpartition(".")
        found = _member(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target):
        """The buffer with a name such as "norm.running_mean".

        >>> torch.nn.BatchNorm1d(2).get_buffer("running_mean")
        tensor([0., 0.])
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = _member(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found


def _member(module, name):
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)
