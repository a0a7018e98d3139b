"""The constructors of old programs: `torch.FloatTensor([1, 2])`, `torch.LongTensor(3, 4)`.

>>> torch.LongTensor([1, 2])
tensor([1, 2])
>>> isinstance(torch.zeros(2), torch.FloatTensor), isinstance(torch.zeros(2), torch.LongTensor)
(True, False)
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.creation import tensor
from tensorgrad.ops.primitive import wrap
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor


class LegacyType(type):
    """What `torch.FloatTensor` is: it makes tensors of one dtype, and recognizes them."""

    dtype: dtypes.dtype

    def __call__(cls, *data, device=None):
        dtypes.check_device(device)
        if len(data) == 1 and isinstance(data[0], Tensor):
            if data[0]._spec.dtype is not cls.dtype:
                raise TypeError(f"expected {cls!r} (got {data[0].type()})")
            return data[0].detach()
        if len(data) == 1 and not isinstance(data[0], Size) and not fitting.is_number(data[0]):
            return tensor(data[0], dtype=cls.dtype)
        return wrap(np.zeros(fitting.sizes_of(data or (0,), "new"), cls.dtype.numpy))

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor) and value._spec.dtype is cls.dtype

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


TYPES = {
    f"{title}Tensor": LegacyType(f"{title}Tensor", (), {"dtype": dtype, "__doc__": f"Tensors of {dtype}."})
    for title, dtype in {
        "Float": dtypes.float32, "Double": dtypes.float64, "Half": dtypes.float16, "BFloat16": dtypes.bfloat16,
        "Byte": dtypes.uint8, "Char": dtypes.int8, "Short": dtypes.int16, "Int": dtypes.int32, "Long": dtypes.int64,
        "Bool": dtypes.bool_,
    }.items()
}  # fmt: skip
globals().update(TYPES)
