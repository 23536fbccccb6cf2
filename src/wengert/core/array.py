"""Array: the base of every value that flows through user code in place of a plain array.

Operators and methods are those of `numpy.ndarray`; `ops/methods.py` attaches them, because they are operations of the
table. NumPy's protocols dispatch NumPy functions on an Array to the table. A function that the table does not have
raises an error: a silent conversion to plain numbers would lose the gradient.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from operator import index
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from wengert.core.absent_attributes import AbsentAttributes, absent_attributes
from wengert.core.assignment import is_assignment, raise_in
from wengert.core.devices import ARRAY_CLASSES, DeviceArray, device_of
from wengert.core.errors import TrackedValueError, refuse_out, user_error
from wengert.core.foreign_keywords import refuse_size_call
from wengert.core.frozen import refuse_frozen
from wengert.core.numpy_calls import (
    is_in,
    name_conversion,
    order_arguments,
    suggest_function,
    unknown_function_error,
)

if TYPE_CHECKING:
    from wengert.core.array_methods import ArrayMethods
    from wengert.core.primitive import Primitive
else:
    ArrayMethods = AbsentAttributes

__all__ = ["Array"]

Implementation = TypeVar("Implementation", bound=Callable[..., Any])

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
"""What runs when a NumPy ufunc is called on an Array."""

UFUNC_METHODS: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}
"""The same for `np.add.reduce` and its like."""

SCIPY_UFUNCS: dict[str, Callable[..., Any]] = {}
"""What runs when a ufunc of `scipy.special` is called on an Array; by name, so that SciPy need not be imported."""

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""What runs when any other NumPy function is called on an Array."""

NO_PARAMS: dict[str, Any] = {}

INTERNALS = frozenset(
    (
        "extra",
        "has_derivative",
        "is_frozen",
        "is_live",
        "level",
        "node",
        "process",
        "process_binary",
        "process_unary",
        "value",
    )
)
"""Attributes of values that are for the engine."""

STANDARDS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the array API standard that the package follows."""


def implements(*functions: Callable[..., Any]) -> Callable[[Implementation], Implementation]:
    """Make the decorated function run when one of these NumPy functions is called on an Array."""

    def decorate(function: Implementation) -> Implementation:
        for original in functions:
            table: dict[Any, Any] = UFUNCS if isinstance(original, np.ufunc) else FUNCTIONS
            table[original] = function
        return function

    return decorate


class Array(ArrayMethods):
    """A value of some mode: a level, a payload (a plain array or an Array of a lower level), and the mode's own data.

    All modes share this layout, so that assignment in place can turn a value of one mode into one of another: if `y`
    holds plain zeros, `y[0] = x` makes `y` a value of the mode of `x`.

    >>> import wengert as wg
    >>> x = wg.tensor([1.0, 2.0])
    >>> isinstance(x, Array), x.shape
    (True, (2,))
    """

    __slots__ = ("__weakref__", "_changes", "_grad", "extra", "level", "value")
    __array_priority__ = 1000
    __pandas_priority__ = 10_000  # pandas leaves operators to values, as NumPy does
    __hash__ = object.__hash__
    is_frozen = False  # whether values of this class never change in place
    is_passed_on = False  # whether programs on a GPU get copies of values of this class, which stay on the CPU

    level: int
    value: Any
    extra: Any
    _changes: int

    # How a mode runs operations.

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run an operation in this value's mode; `level` is the highest among `args`."""
        raise NotImplementedError  # each mode defines it

    @classmethod
    def process_unary(cls, primitive: Primitive, level: int, x: Any) -> Any:
        return cls.process(primitive, level, (x,), NO_PARAMS)

    @classmethod
    def process_binary(cls, primitive: Primitive, level: int, x: Any, y: Any) -> Any:
        return cls.process(primitive, level, (x, y), NO_PARAMS)

    def detach(self) -> Any:
        """The value without its derivative at its own level."""
        raise NotImplementedError  # each mode defines it

    # What every array has.

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        shape: tuple[int, ...] = self.value.shape
        return shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        dtype: np.dtype[Any] = self.value.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        ndim: int = self.value.ndim
        return ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        refuse_size_call(sys._getframe(1))
        size: int = self.value.size
        return size

    @property
    def itemsize(self) -> int:
        """The number of bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def is_live(self) -> bool:
        """Whether a derivative may flow through this value at its own level; never for integers and booleans."""
        return self.dtype.kind in "fc"

    @property
    def has_derivative(self) -> bool:
        """Whether a derivative may flow through this value, at its own level or below."""
        return self.is_live or (isinstance(self.value, Array) and self.value.has_derivative)

    def __dir__(self) -> list[str]:
        """The public attributes, for tab completion."""
        hidden = INTERNALS.union(name for name in absent_attributes() if not hasattr(type(self), name))
        names = [name for name in super().__dir__() if name not in hidden]
        return [name for name in names if not name.startswith("_") or name.startswith("__")]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.value)

    # Conversion to plain numbers, which only a value without a derivative allows.

    def _plain(self, what: str) -> np.ndarray:
        if self.is_live:
            use = suggest_function() or "Use an operation of wengert or NumPy instead (wg.stack for a list of values)"
            raise user_error(
                TrackedValueError,
                f"{what} would turn a {type(self).__name__} that is being differentiated into plain numbers and lose "
                f"its derivative",
                f"{use}, or wg.stop_gradient(x) (x.detach() of a tensor) where no derivative should flow.",
            )
        value = self.value
        return value._plain(what) if isinstance(value, Array) else value

    # Printing is always allowed, and `item` and `tolist` drop the derivative on request.

    def item(self, *index: Any) -> Any:
        """The number, of an array of one element or at an index, without its derivative."""
        return self.value.item(*index)

    def tolist(self) -> Any:
        """The numbers in nested lists, without their derivatives."""
        return self.value.tolist()

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else format(repr(self), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        frame = sys._getframe(1)
        if is_in(frame, "_matmul_dispatch", "scipy.sparse"):
            return np.array(None)  # so SciPy leaves `S @ x` to x
        numbers = self._plain(name_conversion(frame))
        if ARRAY_CLASSES and isinstance(numbers, DeviceArray):
            raise user_error(
                TypeError,
                f"{name_conversion(frame)} needs the numbers on the CPU, and these are on {self.device!r}",
                "Copy them first: x.cpu(), or use an operation of wengert or NumPy, which leaves them there.",
            )
        plain = np.asarray(numbers)
        if copy or dtype not in (None, plain.dtype):
            return np.array(plain, dtype=dtype)
        view = plain.view()
        view.flags.writeable = False
        return view

    def __float__(self) -> float:
        return float(self._number("float(x), or a function of the math module,", sys._getframe(1)))

    def __int__(self) -> int:
        return int(self._number("int(x)", sys._getframe(1)))

    def __complex__(self) -> complex:
        return complex(self._number("complex(x)", sys._getframe(1)))

    def _number(self, what: str, frame: FrameType) -> np.ndarray:
        """The number, for the frame that asks for it. NumPy asks when it assigns to an element of a plain array."""
        try:
            return self._plain(what)
        except TrackedValueError:
            if not is_assignment(frame):
                raise
        try:
            return self._plain(
                "Assignment to an element of a plain ndarray (make it by wg.zeros, or by np.zeros_like(x), to hold "
                "such values)"
            )
        except TrackedValueError as error:
            raise_in(frame, error)
            raise

    def __index__(self) -> int:
        numbers = self._plain("Use as an index")
        return index(numbers.item()) if isinstance(numbers, DeviceArray) else numbers.__index__()

    # The array API standard: code that asks a value for its namespace gets this package.

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version not in (None, *STANDARDS):
            raise user_error(
                ValueError,
                f"Version {api_version!r} of the array API standard is not supported",
                f"Use one of {', '.join(STANDARDS)}.",
            )
        return import_module("wengert")

    @property
    def device(self) -> str:
        """The device that the elements are on: `"cpu"`, or such as `"cuda:0"`."""
        return device_of(self._bottom())

    def _bottom(self) -> Any:
        """The array inside of this value, of any level."""
        value = self.value
        return value._bottom() if isinstance(value, Array) else value

    def to_device(self, device: Any, /, *, stream: Any = None) -> Self:
        """These numbers on another device, as `to`."""
        if stream is not None:
            raise user_error(
                ValueError, "Numbers are moved in the current stream", "Leave out `stream`, or enter it: with stream:."
            )
        return self.to(device)

    def cpu(self) -> Self:
        """These numbers on the CPU, as `to`."""
        return self.to("cpu")

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """For `np.from_dlpack(x)` and the like.

        Consumers that do not support read-only memory get a copy. So does PyTorch, which takes read-only memory and
        would write to it, unless `copy=False` asks for the memory itself.
        """
        would_write = copy is None and str(sys._getframe(1).f_globals.get("__name__")).startswith("torch.")
        if isinstance(self._bottom(), DeviceArray):
            numbers = self._plain("Export by DLPack")
            return numbers.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        plain = self.__array__(copy=copy or would_write or max_version is None or max_version < (1, 0) or None)
        return plain.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        numbers = self._bottom()
        device: tuple[int, int] = (numbers if isinstance(numbers, DeviceArray) else np.empty(0)).__dlpack_device__()
        return device

    # Changes in place: recorded as a functional update; afterwards this object is the new value.

    def _rebind(self, new: Array) -> None:
        refuse_frozen(self)
        if not isinstance(new, Array):
            raise user_error(
                TrackedValueError,
                f"A {type(self).__name__} was changed in place under no_grad",
                because="its derivative would not be that of its numbers any more. Make a new value instead, or assign "
                "outside of no_grad.",
            )
        if new.shape != self.shape:
            raise user_error(ValueError, f"An operation in place cannot change the shape {self.shape} to {new.shape}")
        if new.dtype != self.dtype:
            if not np.can_cast(new.dtype, self.dtype, "same_kind"):
                raise user_error(
                    TypeError, f"An operation in place cannot change the dtype {self.dtype} to {new.dtype}"
                )
            new = new.astype(self.dtype)
        self._become(new)

    @property
    def _version(self) -> int:
        """How often this value was changed in place."""
        return getattr(self, "_changes", 0)

    def _become(self, new: Array) -> None:
        self.__class__ = new.__class__
        self.level, self.value, self.extra = new.level, new.value, new.extra

    def _update(self, function: Callable[..., Any], ufunc: np.ufunc | None, v: Any) -> None:  # noqa: ARG002  # Tensor's
        """`x += v`. Modes whose payload can be written to use `ufunc`."""
        self._rebind(function(self, v))

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.pop("out", None) is not None:
            raise user_error(
                TypeError,
                f"np.{ufunc.__name__} cannot write its result into a plain ndarray (`a += x`, or `out=`) when an "
                f"operand is a {type(self).__name__}",
                "Write `a = a + x` instead, or make `a` a wg.tensor.",
            )
        target = (
            UFUNCS.get(ufunc) or find_scipy_ufunc(ufunc) if method == "__call__" else UFUNC_METHODS.get((ufunc, method))
        )
        if target is None:
            raise unknown_function_error(f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}"))
        dtype = kwargs.pop("dtype", None)
        if method == "__call__" and kwargs and not ufunc.signature:
            raise user_error(
                TypeError, f"np.{ufunc.__name__} on a {type(self).__name__} does not take {', '.join(kwargs)}"
            )
        result = target(*inputs, **kwargs)
        return result if dtype is None else result.astype(dtype)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        target = FUNCTIONS.get(function)
        if target is None:
            raise unknown_function_error(f"{function.__module__.replace('numpy', 'np')}.{function.__name__}")
        if kwargs:
            refuse_out(kwargs.pop("out", None))
            args, kwargs = order_arguments(function, target, args, kwargs)
        return target(*args, **kwargs)


def find_scipy_ufunc(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """What runs for a ufunc of `scipy.special`; added to `UFUNCS` when it is first called."""
    own = getattr(sys.modules.get("scipy.special._ufuncs"), ufunc.__name__, None)
    target = SCIPY_UFUNCS.get(ufunc.__name__) if own is ufunc else None
    if target is not None:
        UFUNCS[ufunc] = target
    return target
