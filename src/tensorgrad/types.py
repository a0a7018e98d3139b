"""Names for type hints, as PyTorch has them in `torch.types`."""

from typing import TypeAlias

from tensorgrad import dtypes
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor

Number: TypeAlias = int | float | bool
Device: TypeAlias = dtypes.device | str | int | None
_dtype, _device, _layout, _size = dtypes.dtype, dtypes.device, type(dtypes.strided), Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...]
