"""Results with several named parts: what sort, max along a dimension and their like return, as PyTorch prints them."""

KINDS = {}  # name of the function -> the class of its results


class Named(tuple):
    """A tuple whose parts have names; `kind` is the function that made it."""

    __slots__ = ()
    kind, fields = "", ()

    def __new__(cls, parts):
        parts = tuple(parts)
        if len(parts) != len(cls.fields):
            raise TypeError(
                f"torch.return_types.{cls.kind}() takes a {len(cls.fields)}-sequence ({len(parts)}-sequence given)"
            )
        return super().__new__(cls, parts)

    def __repr__(self):
        parts = ",\n".join(f"{name}={part!r}" for name, part in zip(self.fields, self, strict=True))
        return f"torch.return_types.{self.kind}(\n{parts})"

    def __reduce__(self):
        return made, (self.kind, self.fields, tuple(self))


def return_type(kind, fields=("values", "indices")):
    """The class of the results of `kind`, a tuple with these fields."""
    if kind not in KINDS:
        parts = {name: property(lambda self, i=i: self[i]) for i, name in enumerate(fields)}
        KINDS[kind] = type(kind, (Named,), {"kind": kind, "fields": fields, "__slots__": (), **parts})
        KINDS[kind].__module__ = "torch.return_types"
    return KINDS[kind]


def made(kind, fields, parts):
    """A result from its parts, for pickle."""
    return return_type(kind, fields)(parts)
