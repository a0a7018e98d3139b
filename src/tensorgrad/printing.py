"""Printing: an array becomes the text that PyTorch prints for a tensor of the same values.

Works on NumPy arrays, before there is any Tensor. Three steps: cut a large array down to its edges (`_excerpt`), write
each number of what is left (`_write`), then set the numbers into rows and brackets (`_layout`). The Tensor says which
dtype and which suffixes (`grad_fn=...`) to add.
"""

import math

import numpy as np

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options = {**_PROFILES["default"], "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Choose how tensors are printed.

    `precision`: digits after the point; `threshold`: tensors with more elements are summarised; `edgeitems`: how many
    elements a summary keeps at each end of a dim; `linewidth`: where lines break; `sci_mode`: scientific notation
    always (True), never (False) or where the values need it (None); `profile`: "default", "short" or "full" (never
    summarise), which the other arguments then adjust. What is None stays as it was, save `sci_mode`: each call sets it.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default", threshold=5)
    >>> torch.arange(10)
    tensor([0, 1, 2,  ..., 7, 8, 9])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None and profile not in tuple(_PROFILES):
        raise ValueError(f"set_printoptions(): profile must be 'default', 'short' or 'full', but got {profile!r}")
    asked = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = {option: _checked(option, value) for option, value in asked.items() if value is not None}
    if profile is not None:
        _options.update(_PROFILES[profile])
    _options.update(chosen, sci_mode=sci_mode)


def get_printoptions():
    """Return the options for printing, as a dict that `set_printoptions(**options)` takes back.

    >>> torch.get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return dict(_options)


def _checked(option, value):
    """Refuse here what would make every later print fail."""
    if option in ("threshold", "linewidth"):
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"set_printoptions(): {option} must be a number, but got {value!r}")
        return value
    if not isinstance(value, (int, np.integer)):
        raise TypeError(f"set_printoptions(): {option} must be an int, but got {value!r}")
    if value < 0:
        raise ValueError(f"set_printoptions(): {option} must not be negative, but got {value}")
    return int(value)


def format_tensor(array, *, dtype_name, default_float=True, suffixes=(), name="tensor"):
    """Return the text of a tensor with the values of `array`, as PyTorch prints it.

    `dtype_name` is what stands after `dtype=`; `default_float` says that a reader knows the dtype from the values: the
    default float dtype, its complex twin, int64 or bool. `suffixes` follow, each ready to print.

    >>> import numpy as np
    >>> from tensorgrad.printing import format_tensor
    >>> print(format_tensor(np.array([1.3633, 0.1912]), dtype_name="float64", suffixes=["grad_fn=<MulBackward0>"]))
    tensor([1.3633, 0.1912], grad_fn=<MulBackward0>)
    """
    indent = len(name) + 1
    notes = []
    show_dtype = not default_float
    if array.size == 0:
        body = "[]"
        if array.ndim != 1:
            notes.append(f"size={array.shape}")
        # Nothing in the brackets tells an integer from a float, so only the default float dtype goes unsaid.
        show_dtype = show_dtype or array.dtype.kind in "iubc"
    else:
        body = _body(array, indent)
        if _options["edgeitems"] == 0:
            notes.append(f"size={array.shape}")
    if show_dtype:
        notes.append(f"dtype={dtype_name}")
    return _append(f"{name}({body}", [*notes, *suffixes], indent)


def _body(array, indent):
    gaps = [False] * array.ndim
    if array.size > _options["threshold"] and array.ndim:
        if _options["edgeitems"] == 0:
            return "[...]"
        array, gaps = _excerpt(array, _options["edgeitems"])
    texts, width = _write(array.reshape(-1))
    return _layout(texts, width, array.shape, gaps, indent)


def _excerpt(array, edge):
    """Both ends of every long dim, and which dims were cut; of a large array only what is printed is read."""
    gaps = [size > 2 * edge for size in array.shape]
    kept = [
        np.r_[:edge, size - edge : size] if gap else np.arange(size)
        for size, gap in zip(array.shape, gaps, strict=True)
    ]
    return array[np.ix_(*kept)], gaps


def _write(values):
    """The texts of a flat array, aligned to the right, and how wide a column of them is taken to be."""
    if values.dtype.kind != "c":
        texts, width = _write_real(values)
        return [text.rjust(width) for text in texts], width
    real, real_width = _write_real(values.real)
    imag, imag_width = _write_real(values.imag)
    signs = ["" if text.startswith("-") else "+" for text in imag]
    texts = [f"{re.rjust(real_width)}{sign}{im}j" for re, sign, im in zip(real, signs, imag, strict=True)]
    return texts, real_width + imag_width + 1


def _write_real(values):
    """Every number in the notation that suits them all, and the width of the widest."""
    if values.dtype.kind in "iub":
        texts = [str(value) for value in values.tolist()]
        return texts, max(map(len, texts))
    values = values.astype(np.float64).tolist()
    # Zeros, infinities and NaN have no say in the notation, nor in the width: they may stick out.
    telling = [value != 0 and math.isfinite(value) for value in values]
    write = _notation([value for value, tells in zip(values, telling, strict=True) if tells]).format
    texts = [write(value) if math.isfinite(value) else str(value) for value in values]
    return texts, max((len(text) for text, tells in zip(texts, telling, strict=True) if tells), default=1)


def _notation(values):
    """The format of one number: scientific for very large, very small or very unequal values, "1." for whole ones."""
    if not values:
        return "{:.0f}."
    scientific = _options["sci_mode"]
    if scientific is None:
        sizes = [abs(value) for value in values]
        smallest, largest = min(sizes), max(sizes)
        scientific = smallest < 1e-4 or largest > 1e8 or largest / smallest > 1000
    if scientific:
        return f"{{:.{_options['precision']}e}}"
    if all(value.is_integer() for value in values):
        return "{:.0f}."
    return f"{{:.{_options['precision']}f}}"


def _layout(blocks, width, shape, gaps, indent):
    """Put the texts of single numbers together, from the innermost dim out, into rows, blocks and brackets."""
    for axis in reversed(range(len(shape))):
        size, margin = shape[axis], indent + axis + 1
        innermost = axis == len(shape) - 1
        rows = [blocks[start : start + size] for start in range(0, len(blocks), size)]
        if gaps[axis]:
            dots = " ..." if innermost else "..."
            rows = [[*row[: size // 2], dots, *row[size // 2 :]] for row in rows]
        if innermost:
            rows = [_lines(row, width, margin) for row in rows]
        separator = "," + "\n" * max(1, len(shape) - axis - 1) + " " * margin
        blocks = [f"[{separator.join(row)}]" for row in rows]
    return blocks[0]


def _lines(row, width, margin):
    """Break a row of numbers into lines that end before `linewidth`."""
    room = (_options["linewidth"] - margin + 1) / (width + 2)
    count = math.floor(max(1, min(room, len(row))))
    return [", ".join(row[start : start + count]) for start in range(0, len(row), count)]


def _append(text, notes, indent):
    """Add the notes and the last bracket, each note on the line it is on or, where that is full, on a new one."""
    column = len(text) - text.rfind("\n") + 1  # as PyTorch counts it: two more than there are, until a line breaks
    for note in notes:
        if column + len(note) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + note
            column = indent + len(note)
        else:
            text += ", " + note
            column += len(note) + 2
    return text + ")"
