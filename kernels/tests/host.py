"""Host arrays that Triton's interpreter takes for tensors, without torch."""

import numpy as np

NAMES = {
    np.dtype("float32"): "fp32",
    np.dtype("float16"): "fp16",
    np.dtype("int32"): "i32",
    np.dtype("int64"): "i64",
    np.dtype("uint64"): "i64",
    np.dtype("uint32"): "i32",
}


class Array:
    """A NumPy array with the few tensor methods that the interpreter calls. It is
    its own storage, so that kernels write into the array itself."""

    def __init__(self, values, dtype=None):
        self.values = np.ascontiguousarray(values)
        # bfloat16 has no NumPy type: its bits come as uint16.
        self.dtype = dtype or str(self.values.dtype).replace("uint", "int")

    def data_ptr(self):
        return self.values.ctypes.data

    def untyped_storage(self):
        return self

    def storage_offset(self):
        return 0

    def size(self):
        return self.values.shape

    def stride(self):
        return tuple(s // self.values.itemsize for s in self.values.strides)

    def cpu(self):
        return self

    def copy_(self, other):
        assert other is self

    def new_empty(self, _n, device=None):
        return _Alias(self.dtype)


class _Alias(Array):
    def __init__(self, dtype):
        self.dtype = dtype

    def set_(self, storage, _offset, _size, _stride):
        self.values = storage.values
        self.storage = storage

    def untyped_storage(self):
        return self.storage
