# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the array that users hold: a name for a node of the recorded graph.

Writing to an array gives it another node; a view keeps its base and how it reads it, so that
writes to either are seen in both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from xyntra.array.dtypes import ElementType, as_dtype, promote
from xyntra.array.interchange import adopted, exported, exported_device, is_foreign
from xyntra.array.late import LATE
from xyntra.array.methods import Methods
from xyntra.array.operators import Operators
from xyntra.array.recorded.evaluate import node_value
from xyntra.array.recorded.graph import LazyNode, Meta, leaf, meta_of, number
from xyntra.array.recorded.placement import device_of, placed
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import PAIRS, binary, cast, numbers, unary
from xyntra.array.views import (
    View,
    permute,
    reshape,
    row_major,
    view_node,
    view_strides,
    write_node,
)
from xyntra.errors import InputError, UnsupportedError
from xyntra.targets.current import CurrentDevice

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Array", "as_node", "node_of", "node_of_number", "operand", "view_of", "wrap", "write"]

_new = object.__new__


class Array(Operators, Methods):
    """An array of the standard: recorded by what makes it, and computed when a value is needed.

    Arrays are made by functions such as `asarray` and `zeros`.
    """

    __slots__ = ("__weakref__", "_base", "_node", "_seen", "_view")
    __array_ufunc__ = None  # so that numpy leaves operators with an array of its own to this class
    __hash__ = None  # type: ignore[assignment]  # arrays compare by element

    _node: LazyNode
    _base: Array | None
    _seen: LazyNode | None
    _view: View

    def __new__(cls, *_: Any) -> Self:
        """Refuse: arrays are made by functions."""
        raise TypeError("arrays are made by functions: xyntra.array.asarray(…)")

    @property
    def dtype(self) -> ElementType:
        """The type of the elements."""
        return self._node.meta.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self._node.meta.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._node.meta.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._node.meta.size

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return self._node.meta.size * self._node.meta.dtype.itemsize

    @property
    def T(self) -> Array:  # noqa: N802  (the standard's name)
        """The array with its two dimensions exchanged; of another rank, in reversed order."""
        return view_of(self, ("permute", tuple(range(self.ndim))[::-1]))

    @property
    def mT(self) -> Array:  # noqa: N802  (the standard's name)
        """Each matrix of the last two dimensions, transposed.

        Raises:
            InputError: the array has less than two dimensions.
        """
        order = tuple(range(self.ndim))
        if len(order) < 2:
            raise InputError(
                "array-rank", f"mT of an array of rank {len(order)}", place=user_place()
            )
        return view_of(self, ("permute", (*order[:-2], order[-1], order[-2])))

    @property
    def device(self) -> str:
        """The GPU that the array lies on; else where it is computed, such as "cpu"."""
        value = node_of(self).value
        return (None if value is None else device_of(value)) or CurrentDevice.target

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """Return the array on a device, computed there; itself, where it is there already.

        Raises:
            UnsupportedError: there is no such device, or a stream is given.
            DeviceError: the device is not there now.
        """
        if stream is not None:
            raise UnsupportedError("array-device", "arrays take no stream", hint="leave out stream")
        return LATE["moved"](self, device)  # type: ignore[no-any-return]

    def astype(self, dtype: Any, /, *, copy: bool = True) -> Array:
        """Return the array with elements of another type, converted as numpy does."""
        wanted = as_dtype(dtype)
        if wanted is self.dtype and not copy:
            return self
        return wrap(cast(node_of(self), wanted))

    def reshape(self, *shape: Any) -> Array:
        """Return the elements under another shape, as a view where numpy gives one."""
        found: Array = LATE["reshape"](
            self, shape[0] if len(shape) == 1 and not _is_int(shape[0]) else shape
        )
        return found

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the elements as a numpy array of its own, computing them first."""
        import numpy as np

        return np.array(np.asarray(node_value(node_of(self))))

    def item(self) -> bool | int | float:
        """Return the only element as a number of Python.

        Raises:
            InputError: there are several, or none.
        """
        if self.size != 1:
            raise InputError(
                "array-item",
                f"an array of the shape {list(self.shape)} is no single number",
                place=user_place(),
                hint="x.sum().item(), xa.any(x) or xa.all(x)",
            )
        import numpy as np

        found: bool | int | float = np.asarray(node_value(node_of(self))).item()
        return found

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python's numbers."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Return the elements to numpy; what is not copied cannot be written to."""
        import numpy as np

        found = np.asarray(node_value(node_of(self))).view()
        found.flags.writeable = False
        if dtype is not None and np.dtype(dtype) != found.dtype:
            if copy is False:
                raise ValueError(f"{found.dtype} does not become {dtype} without a copy")
            return found.astype(dtype)
        return found.copy() if copy else found

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the module of the standard's functions."""
        return LATE["namespace"](api_version)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return the elements as a DLPack capsule, computing them first."""
        return exported(_present(node_of(self)), stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind and the number of the device for DLPack."""
        return exported_device(_present(node_of(self)))

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"an array of {self.dtype.name} is no index")
        return int(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of an array of rank 0")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over an array of rank 0")
        return (self[place] for place in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        import numpy as np

        return value in np.asarray(self)

    def __repr__(self) -> str:
        import numpy as np

        value = np.asarray(node_value(node_of(self)))
        text = np.array2string(value, separator=", ", prefix="array(")
        return f"array({text}, dtype={self.dtype.name})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(LATE["missing_method"](name))

    def __getitem__(self, key: Any, /) -> Array:
        return LATE["read"](self, key)  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, value: Any, /) -> None:
        LATE["assign"](self, key, value)

    def __copy__(self) -> Array:
        return wrap(node_of(self))

    def __deepcopy__(self, _: Any) -> Array:
        return wrap(node_of(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.numpy(),)

    def _combined(self, op: str, family: str, other: Any, reverse: bool = False) -> Any:
        kind = type(other)
        own = self._node if self._base is None else node_of(self)
        if kind is Array:  # written out, as each call of a function takes a tenth of the time
            two = other._node if other._base is None else node_of(other)
            found = PAIRS.get((op, own.meta, two.meta))
            if found is None:
                return wrap(binary(op, family, own, two))
            node = _new(LazyNode)
            node.op = op
            node.args = (own, two)
            node.meta, node.attrs = found
            node.value = None
            node.pinned = False
            array = _new(Array)
            array._node = node
            array._base = None
            node.handle = ref(array)
            return array
        if kind is float or kind is int or kind is bool:
            return wrap(numbers(op, family, own, other, reverse))
        if not is_foreign(other):
            return NotImplemented
        two = adopted(other)
        return wrap(binary(op, family, two, own) if reverse else binary(op, family, own, two))

    def _mapped(self, op: str) -> Any:
        return wrap(unary(op, node_of(self)))

    def _product(self, other: Any, reverse: bool) -> Any:
        return LATE["product"](node_of(self), other, reverse)

    def _assigned(self, found: Any) -> Any:
        """Take the result of an operator in place, in the type that the array has."""
        if found is NotImplemented:
            return found
        node, own = found._node, self._node.meta
        if node.meta.shape != own.shape:
            raise InputError(
                "array-broadcast",
                f"an array of {list(own.shape)} does not hold a result of {list(node.meta.shape)}",
                place=user_place(),
            )
        if promote(node.meta.dtype, own.dtype) is not own.dtype and "f" in (
            node.meta.dtype.kind if own.dtype.kind != "f" else ""
        ):
            raise InputError(
                "array-dtypes",
                f"an array of {own.dtype.name} does not hold a result of {node.meta.dtype.name}",
                place=user_place(),
                hint="x = x + y makes a new array",
            )
        write(self, cast(node, own.dtype))
        return self


def _present(node: LazyNode) -> Any:
    """Return the elements of a node where they belong, on a device or in memory of the host."""
    value = node_value(node)
    device = device_of(value)
    return value if device is None else placed([node], device)[0]


def _restored(value: Any) -> Array:
    return wrap(adopted(value))


def _is_int(value: Any) -> bool:
    return isinstance(value, int) or (
        not isinstance(value, tuple | list) and hasattr(value, "__index__")
    )


def wrap(node: LazyNode) -> Array:
    """Return a new array for a node."""
    array = _new(Array)
    array._node = node
    array._base = None
    node.handle = ref(array)
    return array


def node_of(array: Array) -> LazyNode:
    """Return the node that an array stands for now."""
    base = array._base
    if base is None:
        return array._node
    current = node_of(base)
    if current is not array._seen:
        array._node = view_node(array._view, current)
        array._seen = current
    return array._node


def view_of(base: Array, view: View) -> Array:
    """Return an array that shows part of another one, or its elements in another order."""
    array = _new(Array)
    current = node_of(base)
    array._node = view_node(view, current)
    array._base = base
    array._seen = current
    array._view = view
    return array


def write(array: Array, node: LazyNode) -> None:
    """Give an array new elements, of its own type, which views and the base see."""
    base = array._base
    if base is None:
        array._node = node
        node.handle = ref(array)
        return
    write(base, write_node(array._view, node_of(base), node))
    array._node = node
    array._seen = node_of(base)


def strides_of(array: Array) -> tuple[int, ...] | None:
    """Return the steps in elements that the array would have in numpy; None if it is a copy."""
    if array._base is None:
        return row_major(array.shape)
    strides = strides_of(array._base)
    if strides is None:
        return None
    return view_strides(array._view, array._base._node.meta, strides)


def reshaped(array: Array, shape: tuple[int, ...], copy: bool | None) -> Array:
    """Return the elements under another shape of as many: a view where numpy's memory allows it."""
    if copy:
        return wrap(reshape(node_of(array), shape))
    view: View = ("reshape", shape)
    strides = strides_of(array)
    if strides is not None and _shares(view, array._node.meta, strides):
        return view_of(array, view)
    if copy is False:
        raise InputError(
            "array-copy",
            f"the elements do not take the shape {list(shape)} without a copy",
            place=user_place(),
            hint="copy=None",
        )
    return wrap(reshape(node_of(array), shape))


def operand(value: Any) -> LazyNode | None:
    """Return the node of an array or of what is like one; None for a number of Python."""
    kind = type(value)
    if kind is Array:
        return node_of(value)
    if kind is float or kind is int or kind is bool:
        return None
    if is_foreign(value):
        return adopted(value)
    raise InputError(
        "array-operand",
        f"a {kind.__name__} is no array",
        place=user_place(),
        hint="xa.asarray(value)",
    )


def as_node(value: Any) -> LazyNode:
    """Return the node of an array; a number of Python is one of rank 0 in its default type."""
    found = operand(value)
    if found is not None:
        return found
    return number(value, meta_of((), as_dtype(type(value))))


def node_of_number(value: float, dtype: ElementType) -> LazyNode:
    """Return the node of a number of Python as an element of a type."""
    return number(value, meta_of((), dtype))


@lru_cache(maxsize=4096)
def _shares(view: View, meta: Meta, strides: tuple[int, ...]) -> bool:
    """Tell whether a view of an array with these steps has steps itself, as in numpy."""
    return view_strides(view, meta, strides) is not None


def transposed(node: LazyNode) -> LazyNode:
    """Return the node of each matrix of the last two dimensions transposed."""
    order = tuple(range(len(node.meta.shape)))
    return permute(node, (*order[:-2], order[-1], order[-2]))


def from_value(value: Any, shape: tuple[int, ...], dtype: ElementType) -> Array:
    """Return an array whose elements are there."""
    return wrap(leaf(value, meta_of(shape, dtype)))
