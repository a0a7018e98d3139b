"""`out=` where PyTorch asks for more than a result that can be cast: the very dtype, and memory apart from the operands."""

import numpy as np

from tensorgrad.ops import fitting

C_NAMES = {"Byte": "unsigned char", "Char": "signed char", "Short": "short int", "Long": "long int", "Half": "c10::Half",
           "BFloat16": "c10::BFloat16", "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}  # fmt: skip


def c_name(dtype):
    """A dtype as PyTorch's compiled code calls it: `long int`."""
    return C_NAMES.get(dtype.title) or dtype.title.lower()


def same_dtype(out, dtype, message="Expected out tensor to have dtype {expected}, but got {found} instead"):
    """Raise unless `out` has this dtype."""
    if isinstance(out, fitting.Tensor) and out._spec.dtype is not dtype:
        raise RuntimeError(message.format(expected=c_name(dtype), found=c_name(out._spec.dtype)))


def apart(out, operands, shape):
    """Raise if `out`, once it has this shape, lies in the memory of an operand, or twice in its own."""
    room = out._array
    if type(room) is not np.ndarray:
        return
    fitting.check_writable(out)
    grows = room.shape != shape  # then PyTorch makes it longer where it lies
    for operand in operands:
        array = operand._array
        if type(array) is not np.ndarray or not array.size or not room.size:
            continue
        if np.may_share_memory(array, room) or (grows and fitting.owner(array) is fitting.owner(room)):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def write_apart(out, name, operands, dtype, compute, message=None):
    """Put the result of `compute` into `out`, which has its dtype and lies apart from the operands."""
    same_dtype(out, dtype, *([message] if message else []))

    def checked():
        result = compute()
        apart(out, operands, result._array.shape)
        return result

    return fitting.write_out(out, name, operands, checked)


def store_parts(out, name, parts, operands, exact=False):
    """Write the parts of a result into the tuple of tensors given as `out=`; `exact`: of their very dtypes."""
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {fitting.kind_name(out)}")
    if len(out) != len(parts):
        raise TypeError(f"{name}(): argument 'out' must be tuple of {len(parts)} Tensors")
    for target, part in zip(out, parts, strict=True):
        if exact:
            same_dtype(target, part._spec.dtype)
    return type(parts)([fitting.write_out(o, name, operands, lambda r=r: r) for o, r in zip(out, parts, strict=True)])
