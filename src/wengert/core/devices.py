"""Devices: where the numbers of a value are, and the libraries whose arrays are there.

NumPy's arrays are on `"cpu"`. A library for another kind of device follows NumPy's protocols, so that the operations of
the table run on its arrays as they are: CuPy's are on `"cuda:0"`, `"cuda:1"` and so on. A library is known by the names
of its modules. It is imported when a device of its kind is named; its arrays are recognised when the first one is met.

No operation moves numbers from one device to another: `move` does, when the user asks for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.spec import PLAIN

ARRAY_CLASSES: dict[type, ArrayLibrary] = {}
"""The classes of arrays on devices that were met so far, and their libraries."""


class IsOnDevice(type):
    """The class of `DeviceArray`, whose instances are the arrays of classes that were met."""

    def __instancecheck__(cls, x: Any) -> bool:
        return x.__class__ in ARRAY_CLASSES


if TYPE_CHECKING:
    DeviceArray = np.ndarray
else:

    class DeviceArray(metaclass=IsOnDevice):
        """The arrays of all libraries for devices, for `isinstance`."""


class ArrayLibrary:
    """A library whose arrays are on devices of one `kind`.

    `numpy` is its module with the functions of NumPy, `scipy` the package with those of SciPy, `programs` the module
    whose `backend` compiles for its devices. `dlpack` are the numbers that DLPack has for devices of this kind. `extra`
    is what to install.
    """

    def __init__(self, kind: str, numpy: str, scipy: str, programs: str, dlpack: Iterable[int], extra: str):
        self.kind, self.scipy_name, self.dlpack, self.extra = kind, scipy, tuple(dlpack), extra
        self.numpy_name, self.programs_name = numpy, programs

    @property
    def numpy(self) -> ModuleType:
        """The module with the functions of NumPy."""
        try:
            return import_module(self.numpy_name)
        except ImportError as error:
            raise user_error(
                ModuleNotFoundError,
                f"The device {self.kind!r} needs {self.numpy_name}, which cannot be imported ({error})",
                f"Install it: pip install 'wengert[{self.extra}]'.",
            ) from error

    @property
    def is_imported(self) -> bool:
        """Whether there may be arrays of it."""
        return hasattr(sys.modules.get(self.numpy_name), "ndarray")

    @property
    def is_installed(self) -> bool:
        """Whether it could be imported."""
        from importlib.util import find_spec  # which `import wengert` does not need

        return self.numpy_name in sys.modules or find_spec(self.numpy_name.partition(".")[0]) is not None

    def scipy(self, name: str) -> ModuleType:
        """The module with the functions of `scipy.name`."""
        return import_module(f"{self.scipy_name}.{name}")

    def backend(self) -> Any:
        """What compiles for its devices. Its arrays are payloads from now on."""
        register_class(self.numpy.ndarray, self)
        return import_module(self.programs_name).backend()

    def count(self) -> int:
        """The number of devices; an error says why there is none."""
        try:
            found: int = self.numpy.cuda.runtime.getDeviceCount()
        except RuntimeError as error:
            is_old = "InsufficientDriver" in str(error)
            raise user_error(
                RuntimeError,
                f"There is no device of kind {self.kind!r} that {self.numpy_name} can use ({error})",
                "Install a GPU's driver, or a newer one, or stay on the device 'cpu'."
                if is_old
                else "Look for it with nvidia-smi, or stay on the device 'cpu'.",
            ) from error
        if not found:
            raise user_error(RuntimeError, f"This machine has no device of kind {self.kind!r}", "Stay on 'cpu'.")
        return found

    def use(self, index: int | None) -> Any:
        """A context in which new arrays are on a device; None is the current one."""
        count = self.count()
        if index is not None and index >= count:
            raise user_error(
                ValueError, f"There is no device '{self.kind}:{index}'", f"This machine has {count}, numbered from 0."
            )
        return self.numpy.cuda.Device(index)

    def name(self, index: int | None) -> str:
        """The name of a device; None is the current one."""
        with self.use(index) as device:
            return f"{self.kind}:{device.id}"

    def has(self, x: Any) -> bool:
        """Whether an array is of this library."""
        return ARRAY_CLASSES.get(x.__class__) is self

    def names(self, device: Any) -> bool:
        """Whether this is the library's own object for a device."""
        module = sys.modules.get(self.numpy_name)
        return module is not None and isinstance(device, module.cuda.Device)

    def device_of(self, x: Any) -> str:
        """The name of the device that an array is on."""
        return f"{self.kind}:{x.device.id}"


IS_IMPORTED = attrgetter("is_imported")
LIBRARIES: dict[str, ArrayLibrary] = {
    "cuda": ArrayLibrary("cuda", "cupy", "cupyx.scipy", "wengert.compiler.targets.cuda", (2, 13), "cuda")
}
"""The library for each kind of device."""


def has_device_arrays() -> bool:
    """Whether there may be arrays on devices: those of a library that is not imported do not exist."""
    return any(map(IS_IMPORTED, LIBRARIES.values()))


MOVABLE = frozenset("?bBhHiIlLqQefdFD")
"""The types of numbers that devices have."""


def library_of(x: Any) -> ArrayLibrary | None:
    """The library of an array on a device; None for everything else. An array that is the first of its class counts."""
    found = ARRAY_CLASSES.get(x.__class__)
    if found is not None or x.__class__ in PLAIN:
        return found
    for library in LIBRARIES.values():
        module = sys.modules.get(library.numpy_name)  # if it was never imported, x is not of it
        if module is not None and isinstance(x, module.ndarray):
            register_class(x.__class__, library)
            return library
    return None


DEVICE_CALLS = "wengert.core.device_calls"
"""The module that makes operations run on these arrays, which is imported with the first of them."""


def register_class(cls: type, library: ArrayLibrary) -> None:
    """Make the arrays of a class payloads, and operations run on them."""
    ARRAY_CLASSES[cls] = library
    PLAIN.add(cls)
    import_module(DEVICE_CALLS)


def is_array(x: Any) -> bool:
    """Whether x is an array that operations run on: of NumPy, or of a device's library."""
    return isinstance(x, np.ndarray | DeviceArray)


def device_of(x: Any) -> str:
    """The device that an array is on; numbers are on `"cpu"`.

    >>> device_of(np.ones(3))
    'cpu'
    """
    library = ARRAY_CLASSES.get(x.__class__)
    return "cpu" if library is None else library.device_of(x)


def find_device(device: Any) -> tuple[ArrayLibrary | None, int | None]:
    """The library and the number of a device that a user named; None for the CPU, and for the current device.

    Names are strings, and objects that PyTorch, JAX and CuPy have for devices.
    """
    own = next((library for library in LIBRARIES.values() if library.names(device)), None)
    kind, _, index = (f"{own.kind}:{device.id}" if own else str(device)).partition(":")
    if kind == "cpu":
        return None, None
    if kind not in LIBRARIES or (index and not index.isdecimal()):
        raise user_error(
            ValueError,
            f"There is no device {device!r}",
            because=f"arrays are on 'cpu', or on {', '.join(map(repr, LIBRARIES))}.",
        )
    return LIBRARIES[kind], int(index) if index else None


def move(x: Any, device: Any) -> Any:
    """An array on a device: itself if it is there, else a copy.

    >>> move(np.ones(2), "cpu")
    array([1., 1.])
    """
    library, index = find_device(device)
    known = library_of(x)
    if library is None:
        return x if known is None else known.numpy.asnumpy(x)
    if known is library and index in (None, x.device.id):
        return x
    numbers = x if known is library else move(x, "cpu")
    if known is None and np.asarray(numbers).dtype.char not in MOVABLE:
        raise user_error(
            TypeError,
            f"An array of dtype {np.asarray(numbers).dtype} cannot be on the device {str(device)!r}",
            "Convert it first, for example with x.astype(float).",
        )
    with library.use(index):
        found = library.numpy.array(numbers)
        library_of(found)
        return found


def make_on(device: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function of NumPy makes, on a device; None is the CPU. Where a library lacks it, NumPy's is copied.

    >>> make_on("cpu", np.zeros, 2)
    array([0., 0.])
    """
    library, index = (None, None) if device is None else find_device(device)
    if library is None:
        return function(*args, **kwargs)
    own = getattr(library.numpy, function.__name__, None)
    with library.use(index):
        made = function(*args, **kwargs) if own is None else own(*args, **kwargs)
        if isinstance(made, tuple):  # linspace(retstep=True)
            return tuple(move(part, device) if np.ndim(part) else part for part in made)
        return move(made, device)


def as_payload(x: Any, dtype: Any = None) -> Any:
    """An operand of an implementation as an array, on its device; a number as one of NumPy.

    >>> as_payload(2.0)
    array(2.)
    """
    if isinstance(x, DeviceArray):
        return x if dtype is None else x.astype(dtype, copy=False)
    return np.asarray(x, dtype)


def explain_devices(error: Exception, name: str, args: Iterable[Any]) -> None:
    """Raise an error that says which operands are on different devices, if that is why an operation failed."""
    devices = {f"argument {i}": device_of(x) for i, x in enumerate(args) if is_array(x)}
    if len(set(devices.values())) > 1:
        located = ", ".join(f"{argument} on {device!r}" for argument, device in devices.items())
        raise user_error(
            ValueError,
            f"{name} was called with arrays on different devices: {located}",
            f"Move one of them: x.to({next(d for d in devices.values() if d != 'cpu')!r}), or x.cpu().",
        ) from error


def memory_advice(args: Iterable[Any]) -> str:
    """What a user can do if the memory of a device is used up; "" for the CPU's."""
    x = next((x for x in args if x.__class__ in ARRAY_CLASSES), None)
    if x is None:
        return ""
    free, total = ARRAY_CLASSES[x.__class__].numpy.cuda.runtime.memGetInfo()
    return (
        f" The device {device_of(x)!r} has {free / 2**30:.1f} of {total / 2**30:.1f} GiB free. Delete arrays, use "
        f"smaller batches, or wg.checkpoint, which keeps less for the backward pass."
    )
