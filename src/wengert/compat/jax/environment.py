"""What JAX says of machines and settings: there is one device, the CPU, and numbers are in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wengert.compat.jax.arrays import array
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error

PUBLIC = [
    "Device", "block_until_ready", "clear_caches", "config", "default_backend", "default_matmul_precision",
    "device_count", "device_get", "device_put", "devices", "enable_x64", "local_device_count", "local_devices",
    "named_scope", "process_count",
    "process_index",
]  # fmt: skip


class Device:
    """The CPU."""

    id, platform, device_kind, process_index = 0, "cpu", "cpu", 0

    def __repr__(self) -> str:
        return "CpuDevice(id=0)"


CPU = Device()


def devices(backend: str | None = None) -> list[Device]:
    """The devices: one."""
    if backend not in (None, "cpu"):
        raise user_error(RuntimeError, f"There is no backend {backend!r}", because="arrays are on 'cpu'.")
    return [CPU]


def local_devices(backend: str | None = None) -> list[Device]:
    """The devices: one."""
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """The number of devices."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices."""
    return len(devices(backend))


def process_count() -> int:
    """The number of processes."""
    return 1


def process_index() -> int:
    """The number of this process."""
    return 0


def default_backend() -> str:
    """The platform that programs run on.

    >>> default_backend()
    'cpu'
    """
    return "cpu"


def device_put(x: Any, device: Any = None) -> Any:
    """A tree of arrays; its numbers stay where they are."""
    if not (device is None or isinstance(device, Device) or device == "cpu"):
        raise user_error(NotImplementedError, f"device_put to {device!r}", because="arrays are on one device, the CPU.")
    return tree.map(array, x)


def device_get(x: Any) -> Any:
    """A tree of NumPy's arrays."""
    return tree.map(lambda leaf: leaf.__array__() if isinstance(leaf, Array) else leaf, x)


def block_until_ready(x: Any) -> Any:
    """The tree itself: operations have run when they return."""
    return x


def clear_caches() -> None:
    """Nothing: compiled functions keep their programs."""


@contextmanager
def named_scope(name: str) -> Iterator[None]:  # noqa: ARG001  # for traces of JAX's
    """A block with a name."""
    yield


@contextmanager
def default_matmul_precision(new_val: Any) -> Iterator[None]:  # noqa: ARG001  # that of the operands
    """A block with a precision of products, which is always that of the operands."""
    yield


@contextmanager
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """A block with double precision, as everywhere."""
    config.update("jax_enable_x64", new_val)
    yield


class Config:
    """Settings by name. Those that would change numbers are fixed."""

    FIXED = {"jax_enable_x64": True, "jax_platform_name": "cpu", "jax_platforms": "cpu"}
    IGNORED = (
        "jax_default_matmul_precision", "jax_log_compiles", "jax_compilation_cache_dir", "jax_traceback_filtering",
        "jax_threefry_partitionable", "jax_default_prng_impl", "jax_check_tracer_leaks",
    )  # fmt: skip
    ADVICE = {
        "jax_enable_x64": "Numbers are in double precision; pass dtype=jnp.float32 where you want single precision.",
        "jax_debug_nans": "Use wengert.why_nan(f, x), which finds the first NaN.",
        "jax_disable_jit": "Use the block jax.disable_jit().",
    }

    def update(self, name: str, value: Any) -> None:
        """Set a setting; raise an error if it has another value here."""
        if name in self.IGNORED or (name in self.FIXED and value == self.FIXED[name]):
            return
        if name in self.ADVICE and not value and name not in self.FIXED:
            return  # it is off
        advice = self.ADVICE.get(name, "Leave it out.")
        raise user_error(NotImplementedError, f"wengert.compat.jax does not have {name}={value!r}", advice)

    def read(self, name: str) -> Any:
        """The value of a setting."""
        return self.FIXED.get(name)

    @property
    def jax_enable_x64(self) -> bool:
        """Whether numbers are in double precision."""
        return True

    x64_enabled = jax_enable_x64


config = Config()
