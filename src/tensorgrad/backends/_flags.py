"""What the settings of libraries have in common: flags of a module, set for a while."""

import contextlib
import sys


def switches(module_name, *names):
    """(set_flags, flags) of a module: set its variables and get their former values; the same as a context manager."""

    def set_flags(*values, **named):
        scope = vars(sys.modules[module_name])
        before = {name: scope[name] for name in names}
        given = dict(zip(names, values, strict=False)) | named
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise TypeError(f"set_flags() got an unexpected keyword argument '{unknown[0]}'")
        scope.update({f"{name}": value for name, value in given.items() if value is not None})
        return tuple(before.values())

    @contextlib.contextmanager
    def flags(*values, **named):
        before = set_flags(*values, **named)
        try:
            yield
        finally:
            vars(sys.modules[module_name]).update(zip(names, before, strict=True))

    return set_flags, flags
