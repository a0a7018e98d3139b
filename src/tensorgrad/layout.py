"""Where a tensor's numbers lie in memory and what they are: shape, strides, dtype and storage. Nothing here computes."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.dtypes import cpu
from tensorgrad.ops import fitting

ndarray = np.ndarray


class LayoutMixin:
    """Where a tensor's numbers lie and what they are: nothing here computes."""

    __slots__ = ()

    @property
    def shape(self):
        """The size of each dimension.

        >>> torch.ones(2, 3).shape
        tensorgrad.Size([2, 3])
        """
        return self._spec.shape

    @property
    def names(self):
        """The name of each dimension, None where it has none.

        >>> torch.ones(2, 3, names=("N", None)).names
        ('N', None)
        """
        names = self._spec.names
        return (None,) * len(self._spec.shape) if names is None else names

    @names.setter
    def names(self, names):
        if names is None:
            self.rename_(None)
        else:
            self.rename_(*names)

    def size(self, dim=None):
        """The shape, or the size of one dimension.

        >>> torch.ones(2, 3).size(-1)
        3
        """
        shape = self._spec.shape
        return shape if dim is None else shape[fitting.dim_of(dim, len(shape), "size")]

    @property
    def dtype(self):
        """The format of the numbers.

        >>> torch.ones(2).dtype
        tensorgrad.float32
        """
        return self._spec.dtype

    @property
    def device(self):
        """Where the tensor lives.

        >>> torch.ones(2).device
        device(type='cpu')
        """
        return cpu

    @property
    def layout(self):
        """Always `strided`.

        >>> torch.ones(2).layout
        tensorgrad.strided
        """
        return dtypes.strided

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_meta = is_nested = is_mps = is_xpu = is_sparse_csr = False
    is_cpu = True

    @property
    def ndim(self):
        """How many dimensions.

        >>> torch.ones(2, 3).ndim
        2
        """
        return len(self._spec.shape)

    def dim(self):
        """How many dimensions.

        >>> torch.ones(2, 3).dim()
        2
        """
        return len(self._spec.shape)

    ndimension = dim

    def numel(self):
        """How many elements.

        >>> torch.ones(2, 3).numel()
        6
        """
        return self._spec.size

    nelement = numel

    @property
    def itemsize(self):
        """Bytes of one element.

        >>> torch.ones(2).itemsize
        4
        """
        return self._spec.dtype.itemsize

    def element_size(self):
        """Bytes of one element.

        >>> torch.ones(2, dtype=torch.float64).element_size()
        8
        """
        return self._spec.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements.

        >>> torch.ones(2, 3).nbytes
        24
        """
        return self._spec.size * self._spec.dtype.itemsize

    def stride(self, dim=None):
        """How many elements to step over in memory for the next index, of all dimensions or of one.

        >>> torch.ones(2, 3).stride()
        (3, 1)
        """
        strides = fitting.torch_strides(self._array)
        return strides if dim is None else strides[fitting.dim_of(dim, len(strides), "stride")]

    def storage_offset(self):
        """Where the first element lies in the storage, in elements.

        >>> torch.arange(4)[2:].storage_offset()
        2
        """
        return (
            (self.data_ptr() - fitting.owner(self._array).ctypes.data) // self._spec.dtype.itemsize
            if self._spec.size
            else 0
        )

    def data_ptr(self):
        """The address of the first element.

        >>> x = torch.ones(2); x.data_ptr() == x.view(1, 2).data_ptr()
        True
        """
        return (
            self._array.__array_interface__["data"][0]
            if self._spec.dtype is not dtypes.bfloat16
            else self._array.ctypes.data
        )

    def untyped_storage(self):
        """The memory that this tensor and its views share.

        >>> torch.ones(2, 3)[1].untyped_storage().nbytes()
        24
        """
        return Storage(fitting.owner(self._array), dtypes.uint8)

    def storage(self):
        """The memory that this tensor and its views share, counted in elements.

        >>> torch.ones(2, 3)[1].storage().size()
        6
        """
        return Storage(fitting.owner(self._array), self._spec.dtype)

    _typed_storage = storage

    def is_contiguous(self, memory_format=dtypes.contiguous_format):
        """Whether the elements lie in memory in the order of their indices.

        >>> torch.ones(2, 3).t().is_contiguous()
        False
        """
        array = self._array
        if type(array) is not ndarray and memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
            return False  # what transforms hold lies in order
        if memory_format is dtypes.channels_last:
            return array.ndim == 4 and array.transpose(0, 2, 3, 1).flags.c_contiguous
        if memory_format is dtypes.channels_last_3d:
            return array.ndim == 5 and array.transpose(0, 2, 3, 4, 1).flags.c_contiguous
        return array.flags.c_contiguous

    def is_floating_point(self):
        """Whether the dtype is a real floating one.

        >>> torch.ones(1).is_floating_point()
        True
        """
        return self._spec.dtype.is_floating_point

    def is_complex(self):
        """Whether the dtype is complex.

        >>> torch.ones(1).is_complex()
        False
        """
        return self._spec.dtype.is_complex

    def is_signed(self):
        """Whether the dtype has negative numbers.

        >>> torch.ones(1).is_signed()
        True
        """
        return self._spec.dtype.is_signed

    def is_conj(self):
        """Always False: conjugates are computed at once.

        >>> torch.ones(1).is_conj()
        False
        """
        return False

    is_neg = is_conj

    def is_inference(self):
        """Whether the tensor was made in inference mode.

        >>> torch.ones(1).is_inference()
        False
        """
        return self._spec.inference

    def get_device(self):
        """-1, the number of the CPU.

        >>> torch.ones(1).get_device()
        -1
        """
        return -1

    def is_shared(self):
        """Whether the memory is shared with other processes.

        >>> torch.ones(1).is_shared()
        False
        """
        return False

    def to_dense(self, dtype=None, *, masked_grad=None):
        """The tensor itself, which is dense already (converted to `dtype`, if given).

        >>> torch.ones(1).to_dense()
        tensor([1.])
        """
        return self if dtype is None else self.to(dtype)

    def to_sparse(self, *args, **kwargs):
        """Raises: there are no sparse tensors here."""
        raise NotImplementedError(
            "tensorgrad has no sparse tensors: keep the tensor dense, or use scipy.sparse on x.numpy()"
        )

    to_sparse_coo = to_sparse_csr = to_sparse_csc = to_sparse_bsr = to_sparse_bsc = to_sparse

    def to_mkldnn(self, dtype=None):
        """Raises: tensors have one layout here."""
        raise NotImplementedError("tensorgrad has no mkldnn layout: every tensor is strided")

    def is_pinned(self, device=None):
        """Always False.

        >>> torch.ones(1).is_pinned()
        False
        """
        return False


class Storage:
    """The memory behind a tensor and its views."""

    def __init__(self, owner, dtype):
        self._owner, self.dtype = owner, dtype

    def data_ptr(self):
        return self._owner.ctypes.data

    def nbytes(self):
        return self._owner.nbytes

    def size(self):
        return self._owner.nbytes // self.dtype.itemsize

    __len__ = size

    def element_size(self):
        return self.dtype.itemsize

    def tolist(self):
        return self._flat().tolist()

    def __getitem__(self, index):
        return self._flat()[index].item()

    def _flat(self):
        flat = np.ndarray((self.size(),), self.dtype.numpy, self._owner.data if self._owner.flags.c_contiguous else
                          self._owner.ravel(order="K"))  # fmt: skip
        return flat

    def __eq__(self, other):
        return isinstance(other, Storage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())
