"""Reading pickles without running anything out of them.

Python's own unpickler calls whatever function a file names. This one knows a list of names, each with a builder written
here or given by the user, and refuses every other name. It is an ordinary stack machine: opcodes push, collect and build.
"""

import pickle
import pickletools
import struct
import sys
from collections import Counter, OrderedDict
from pickle import UnpicklingError

REFUSED = (
    "Weights only load failed. Unsupported global: GLOBAL {name} was not an allowed global by default. Please use "
    "`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` context manager "
    "to allowlist this global if you trust this class/function.\nNothing of the file was run."
)
NO_SUCH = (
    "Weights only load failed. Unsupported global: GLOBAL {name}: tensorgrad has nothing of that name.\nLoad the file with "
    "PyTorch and save what it stands for as ordinary tensors. Nothing of the file was run."
)
MOST_IN_KEY = 10_000  # hash() walks through nested tuples without end and without a guard
OLD_NAMES = {"__builtin__": "builtins", "copy_reg": "copyreg"}


def public_name(module, name):
    """The full name of a class in files: PyTorch's for what is tensorgrad's here."""
    return f"{'torch' + module[10:] if module.partition('.')[0] == 'tensorgrad' else module}.{name}"


def is_ours(module, name):
    """Whether a name of PyTorch's is also one of ours that is loaded."""
    found = sys.modules.get("tensorgrad" + module[5:])
    return found is not None and name.rpartition(".")[2] in vars(found)


def names_in(data):
    """Every full name that a pickle uses, in order, without building anything."""
    found, texts = {}, []
    try:
        for code, argument, _ in pickletools.genops(data):
            if code.name in ("GLOBAL", "INST"):
                module, name = str(argument).split(" ", 1)
                found[public_name(OLD_NAMES.get(module, module), name)] = None
            elif code.name == "STACK_GLOBAL" and len(texts) > 1:
                found[public_name(OLD_NAMES.get(texts[-2], texts[-2]), texts[-1])] = None
            if isinstance(argument, str):
                texts.append(argument)
    except (ValueError, IndexError) as error:
        raise broken(f"{error}") from None
    return list(found)


class Known:
    """A name that a file may use: `build` makes a value of arguments, `value` is what the name itself stands for.

    With both it is a class or function that the user trusts. `dtype` is that of the storages of this name.
    """

    __slots__ = ("build", "dtype", "name", "value")

    def __init__(self, name, build=None, value=None, dtype=None):
        self.name, self.build, self.value, self.dtype = name, build, value, dtype


class Mark:
    """Where on the stack a collection begins."""


MARK = Mark()


def broken(why):
    return UnpicklingError(f"Weights only load failed. The pickle is damaged: {why}")


def loads(data, known, persistent_load=None):
    """The object that a pickle describes. `known` maps names to Known; `persistent_load` gives tensors their memory."""
    return load_first(data, known, persistent_load)[0]


def load_first(data, known, persistent_load=None, place=0):
    """The object of the pickle that begins at `place`, and where that pickle ends."""
    machine = Machine(data, known, persistent_load, place)
    try:
        return machine.run(), machine.place
    except (UnpicklingError, NotImplementedError):
        raise
    except (struct.error, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError,
            RecursionError) as error:  # fmt: skip
        raise broken(f"{type(error).__name__}: {error}") from None


class Machine:
    """The stack, the memo, and one method an opcode."""

    def __init__(self, data, known, persistent_load, place):
        self.data, self.known, self.persistent_load = data, known, persistent_load
        self.place, self.stack, self.memo = place, [], {}
        self.trusted = {id(k.value): k for k in known.values() if k.build is not None and k.value is not None}

    def run(self):
        steps = OPCODES
        while True:
            code = self.take(1)[0]
            if code == 46:  # STOP
                (result,) = self.stack
                return result
            step = steps.get(code)
            if step is None:
                raise UnpicklingError(f"Weights only load failed. Unsupported operand {code}")
            step(self)

    # Reading

    def take(self, count):
        end = self.place + count
        if end > len(self.data):
            raise broken("it ends too early")
        piece = self.data[self.place : end]
        self.place = end
        return piece

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self):
        end = self.data.find(b"\n", self.place)
        if end < 0:
            raise broken("it ends too early")
        piece = self.data[self.place : end]
        self.place = end + 1
        return piece.decode()

    def push(self, value):
        self.stack.append(value)

    def pop(self):
        value = self.stack.pop()
        if value is MARK:
            raise broken("a collection where a value must be")
        return value

    def collected(self):
        """What was pushed since the last mark."""
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] is MARK:
                items = self.stack[place + 1 :]
                del self.stack[place:]
                return items
        raise broken("a collection without beginning")

    # Building

    def find(self, module, name):
        name = public_name(OLD_NAMES.get(module, module), name)
        found = self.known.get(name)
        if found is None:
            words = NO_SUCH if name.startswith("torch.") and not is_ours(module, name) else REFUSED
            raise UnpicklingError(words.format(name=name))
        self.push(found if found.value is None else found.value)

    def known_for(self, value):
        """The Known that a value on the stack stands for: itself, or that of a class which the user trusts."""
        return value if type(value) is Known else self.trusted.get(id(value))

    def reduce(self):
        arguments, what = self.pop(), self.pop()
        made_by = self.known_for(what)
        if made_by is None or made_by.build is None or type(arguments) is not tuple:
            name = made_by.name if made_by is not None else type(what).__name__
            raise UnpicklingError(f"Weights only load failed. Trying to call reduce for unrecognized function {name}")
        self.push(made_by.build(*arguments))

    def new_object(self):
        arguments, what = self.pop(), self.pop()
        kind = self.known_for(what)
        if kind is None or not isinstance(kind.value, type) or kind.build is None or type(arguments) is not tuple:
            name = kind.name if kind is not None else type(what).__name__
            raise UnpicklingError(f"Weights only load failed. Trying to call new object for class {name}")
        self.push(kind.value.__new__(kind.value, *arguments))

    def build(self):
        state = self.pop()
        target = self.stack[-1]
        trusted = id(type(target)) in self.trusted
        if trusted and hasattr(target, "__setstate__"):
            target.__setstate__(state)
        elif (trusted or type(target) is OrderedDict) and type(state) is dict and all(type(k) is str for k in state):
            target.__dict__.update(state)
        else:
            raise UnpicklingError(
                "Weights only load failed. Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {type(target)}"
            )

    def set_items(self, items):
        target = self.stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise broken("entries for what is no dict")
        for key, value in zip(items[::2], items[1::2]):
            check_key(key)
            dict.__setitem__(target, key, value) if type(target) is not OrderedDict else target.__setitem__(key, value)

    def extend(self, items):
        target = self.stack[-1]
        if type(target) is not list:
            raise broken("entries for what is no list")
        target.extend(items)

    def add_items(self):
        items = self.collected()
        if type(self.stack[-1]) is not set:
            raise broken("entries for what is no set")
        self.stack[-1].update(as_keys(items))

    def set_item(self):
        value, key = self.pop(), self.pop()
        self.set_items([key, value])

    def persistent(self):
        if self.persistent_load is None:
            raise broken("a storage where none can be")
        self.push(self.persistent_load(self.pop()))

    def remember(self, key):
        self.memo[key] = self.stack[-1]

    def stack_global(self):
        name, module = self.pop(), self.pop()
        if type(name) is not str or type(module) is not str:
            raise broken("a name that is no text")
        self.find(module, name)

    def last(self, count):
        items = [self.pop() for _ in range(count)]
        return tuple(reversed(items))

    def boolean_or_integer(self):
        text = self.line()
        self.push({"00": False, "01": True}[text] if text in ("00", "01") else int(text))


def text(form):
    return lambda m: m.push(m.take(m.number(form)).decode("utf-8", "surrogatepass"))


def raw(form):
    return lambda m: m.push(m.take(m.number(form)))


def constant(value):
    return lambda m: m.push(value)


def get(form):
    return lambda m: m.push(m.memo[m.number(form)])


def put(form):
    return lambda m: m.remember(m.number(form))


def fixed(form):
    return lambda m: m.push(m.number(form))


_STEPS = {
    pickle.PROTO: lambda m: check_protocol(m.number("<B")),
    pickle.FRAME: lambda m: m.number("<Q") and None,
    pickle.MARK: constant(MARK),
    pickle.GLOBAL: lambda m: m.find(m.line(), m.line()),
    pickle.STACK_GLOBAL: Machine.stack_global,
    pickle.REDUCE: Machine.reduce,
    pickle.NEWOBJ: Machine.new_object,
    pickle.BUILD: Machine.build,
    pickle.BINPERSID: Machine.persistent,
    pickle.NONE: constant(None),
    pickle.NEWTRUE: constant(True),
    pickle.NEWFALSE: constant(False),
    pickle.INT: Machine.boolean_or_integer,
    pickle.BININT: fixed("<i"),
    pickle.BININT1: fixed("<B"),
    pickle.BININT2: fixed("<H"),
    pickle.LONG1: lambda m: m.push(int.from_bytes(m.take(m.number("<B")), "little", signed=True)),
    pickle.BINFLOAT: fixed(">d"),
    pickle.BINUNICODE: text("<I"),
    pickle.SHORT_BINUNICODE: text("<B"),
    pickle.BINUNICODE8: text("<Q"),
    pickle.SHORT_BINSTRING: lambda m: m.push(m.take(m.number("<B")).decode("latin1")),
    pickle.BINBYTES: raw("<I"),
    pickle.SHORT_BINBYTES: raw("<B"),
    pickle.BINBYTES8: raw("<Q"),
    pickle.EMPTY_TUPLE: constant(()),
    pickle.TUPLE: lambda m: m.push(tuple(m.collected())),
    pickle.TUPLE1: lambda m: m.push(m.last(1)),
    pickle.TUPLE2: lambda m: m.push(m.last(2)),
    pickle.TUPLE3: lambda m: m.push(m.last(3)),
    pickle.EMPTY_LIST: lambda m: m.push([]),
    pickle.APPEND: lambda m: m.extend([m.pop()]),
    pickle.APPENDS: lambda m: m.extend(m.collected()),
    pickle.EMPTY_DICT: lambda m: m.push({}),
    pickle.SETITEM: Machine.set_item,
    pickle.SETITEMS: lambda m: m.set_items(m.collected()),
    pickle.EMPTY_SET: lambda m: m.push(set()),
    pickle.ADDITEMS: Machine.add_items,
    pickle.BINGET: get("<B"),
    pickle.LONG_BINGET: get("<I"),
    pickle.BINPUT: put("<B"),
    pickle.LONG_BINPUT: put("<I"),
    pickle.MEMOIZE: lambda m: m.remember(len(m.memo)),
}
OPCODES = {code[0]: step for code, step in _STEPS.items()}


def check_key(key):
    """Refuse a key that takes endless work, or a stack without end, to look up."""
    rest, count = [key], 0
    while rest:
        value = rest.pop()
        count += 1
        if type(value) is tuple:
            rest.extend(value)
        if count + len(rest) > MOST_IN_KEY:
            raise broken("a key of too many parts")


def as_keys(items):
    for item in items:
        check_key(item)
    return items


def ordered(pairs=()):
    """An OrderedDict, which old pickles make of pairs."""
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs):
        raise broken("an OrderedDict of something else than pairs")
    as_keys([key for key, _ in pairs])
    return OrderedDict(pairs)


def set_of(kind):
    """A builder of sets."""

    def build(items=()):
        if not isinstance(items, (list, tuple)):
            raise broken("a set of what is no list")
        return kind(as_keys(items))

    return build


def check_protocol(version):
    if version > 5:
        raise broken(f"protocol {version}")


def encode(string, how="latin1"):
    """Bytes, which old pickles write as text."""
    if how not in ("latin1", "latin-1"):
        raise broken(f"bytes encoded by {how}")
    return string.encode("latin1")


def byte_array(*arguments):
    if not arguments:
        return bytearray()
    if type(arguments[0]) is str:
        return bytearray(encode(*arguments))
    if type(arguments[0]) is not bytes:
        raise broken("a bytearray of something else than bytes")
    return bytearray(arguments[0])


def plain(function, *kinds):
    """A builder that takes only these kinds of arguments."""

    def build(*arguments):
        if len(arguments) > len(kinds) or not all(isinstance(a, k) for a, k in zip(arguments, kinds)):
            raise broken(f"unexpected arguments of {function.__name__}")
        return function(*arguments)

    return build


# What any pickle may contain: containers and numbers of Python
PYTHON = {
    known.name: known
    for known in (
        Known("collections.OrderedDict", ordered),
        Known("collections.Counter", plain(Counter, dict)),
        Known("_codecs.encode", encode),
        Known("builtins.bytearray", byte_array),
        Known("builtins.set", set_of(set)),
        Known("builtins.frozenset", set_of(frozenset)),
        Known("builtins.bytes", plain(bytes)),
        Known("builtins.complex", plain(complex, (int, float), (int, float))),
    )
}
