"""A compiled Module: calls its programs, and otherwise is the module that it was made of."""

from tensorgrad.nn.modules.module import Module


class CompiledModule(Module):
    """What `compile(module)` returns. Its parameters, its mode and its state are those of the module.

    >>> layer = torch.nn.Linear(2, 1); fast = torch.compile(layer)
    >>> torch.equal(fast(torch.ones(1, 2)), layer(torch.ones(1, 2))), fast.weight is layer.weight
    (True, True)
    >>> list(fast.state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    def __init__(self, module, call):
        super().__init__()
        self._orig_mod = module
        self.__dict__["call"] = call
        self.training = module.training

    def forward(self, *args, **kwargs):
        """Run the module's program for these arguments."""
        return self.call(*args, **kwargs)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name, value):
        if name == "_orig_mod":
            super().__setattr__(name, value)
            return
        if name == "training":
            self.__dict__[name] = value
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __len__(self):
        return len(self._orig_mod)

    def __getitem__(self, key):
        return self._orig_mod[key]

    def __iter__(self):
        return iter(self._orig_mod)
