"""The way to the processor: LLVM (the `jit` extra) turns text into machine code, kept on disk for the next process.

A file in the cache is named after what it was made of: the text, the processor and the versions. It carries a checksum, so a
damaged one is made again; it is written aside and renamed, so that processes do not meet; a folder that cannot be written to
only costs time.
"""

import ctypes
import functools
import hashlib
import os
import sys
import threading
from pathlib import Path

from tensorgrad import settings
from tensorgrad.kernels import pool

_state = {"lock": threading.Lock(), "engine": None, "products": None}


def llvm():
    """llvmlite's binding; ModuleNotFoundError names the extra."""
    try:
        import llvmlite.binding as binding  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "compiled kernels need llvmlite: pip install 'tensorgrad-engine[jit]'", name="llvmlite"
        ) from error
    return binding


def available():
    """Whether kernels can be compiled here.

    >>> torch.kernels.available() in (True, False)
    True
    """
    if _state.get("available") is None:
        try:
            llvm()
            _state["available"] = True
        except (ModuleNotFoundError, OSError):
            _state["available"] = False
    return _state["available"]


@functools.cache
def most_threads():
    """The most threads that a nest of loops is ever shared among."""
    return 1 if sys.platform == "win32" else min(settings.cores(), 16)


def threads():
    """How many threads a large nest of loops is shared among: what `torch.set_num_threads` says, no more than cores."""
    return min(settings.get_num_threads(), most_threads())


class Engine:
    """LLVM for the processor of this machine."""

    def __init__(self):
        self.binding = binding = llvm()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self.cpu = binding.get_host_cpu_name()
        features = binding.get_host_cpu_features()
        self.features = features.flatten()
        self.target = binding.Target.from_default_triple()
        self.machine = self.new_machine()
        self.engine = binding.create_mcjit_compiler(binding.parse_assembly(""), self.machine)
        self.engine.set_object_cache(self.compiled, self.cached)
        self.objects = {}  # module identifier -> object code that came out of a compilation
        self.ready = {}  # content -> (keep, addresses)
        self.pool = False  # whether it is there

    def new_machine(self):
        return self.target.create_target_machine(
            self.cpu, self.features, opt=3, reloc="static", codemodel="large", jit=True
        )

    def compiled(self, module, code):
        self.objects[module.name] = code

    def cached(self, module):
        return None

    def optimized(self, text, name):
        """A module after LLVM's passes."""
        module = self.binding.parse_assembly(text)
        module.name = name
        module.triple = self.target.triple
        module.data_layout = str(self.machine.target_data)
        module.verify()
        options = self.binding.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = True
        builder = self.binding.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        return module

    def functions(self, text, names, keep=True):
        """The addresses of the functions in a module, compiled now or ever before."""
        if pool.RUN in text and not self.pool:
            self.pool = True
            pool.start(self)
        key = content(text, self)
        found = self.ready.get(key)
        if found is not None:
            return [self.engine.get_function_address(f"{key}_{n}") for n in names]
        text = renamed(text, names, key)
        code = read(key)
        if code is not None:
            try:
                self.engine.add_object_file(self.binding.ObjectFileRef.from_data(code))
            except RuntimeError:
                code = None
        if code is None:
            module = self.optimized(text, key)
            self.engine.add_module(module)
            self.engine.finalize_object()
            code = self.objects.pop(key, None)
            if keep:
                write(key, code)
        self.engine.finalize_object()
        self.ready[key] = True
        return [self.engine.get_function_address(f"{key}_{n}") for n in names]

    def assembly(self, text):
        return self.machine.emit_assembly(self.optimized(text, "shown"))


def renamed(text, names, key):
    """The module with its public functions named apart from those of other modules."""
    for name in names:
        text = text.replace(f"@{name}(", f"@{key}_{name}(")
    return text


def engine():
    """The Engine of this process."""
    with _state["lock"]:
        if _state["engine"] is None:
            _state["engine"] = Engine()
        return _state["engine"]


def functions(text, names, keep=True):
    """Callables (of one pointer) for the functions of a module; `keep`: on disk, too."""
    with _state["lock"]:
        if _state["engine"] is None:
            _state["engine"] = Engine()
        addresses = _state["engine"].functions(text, names, keep)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return [kind(address) for address in addresses]


# The cache on disk


def folder():
    """Where compiled kernels are kept: TENSORGRAD_CACHE, or the user's cache folder."""
    given = os.environ.get("TENSORGRAD_CACHE")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tensorgrad"


def content(text, engine):
    from tensorgrad import __version__

    words = "\n".join((text, engine.cpu, engine.features, str(engine.binding.llvm_version_info), __version__))
    return "k" + hashlib.sha256(words.encode()).hexdigest()[:32]


def read(key):
    """Object code from the cache, or None."""
    try:
        data = (folder() / f"{key}.o").read_bytes()
    except (OSError, RuntimeError):
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def write(key, code):
    if not code:
        return
    try:
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        aside = place / f"{key}.{os.getpid()}.{threading.get_ident()}"
        aside.write_bytes(hashlib.sha256(code).digest() + code)
        aside.replace(place / f"{key}.o")
    except (OSError, RuntimeError):
        pass


# BLAS


def products():
    """The names under which LLVM finds NumPy's own matrix products, (float, double), or None."""
    if _state["products"] is None:
        _state["products"] = find_products() or ()
    return _state["products"] or None


def find_products():
    import numpy as np

    binding = llvm()
    root = Path(np.__file__).parent
    for path in [*(root.parent / "numpy.libs").glob("*openblas*"), *(root / ".dylibs").glob("*openblas*")]:
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        names = []
        for letter in "sd":
            for symbol in (f"scipy_cblas_{letter}gemm64_", f"cblas_{letter}gemm64_"):
                function = getattr(library, symbol, None)
                if function is not None:
                    name = f"tensorgrad_{letter}gemm"
                    binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
                    names.append(name)
                    break
        if len(names) == 2:
            return tuple(names)
    return None
