"""Settings that programs make and that have no effect here, and `compile`."""

from __future__ import annotations

import os
from typing import Any

from wengert.compat.torch.creation import TYPED
from wengert.compat.torch.dtypes import set_default_dtype
from wengert.core.errors import user_error

__all__ = [
    "are_deterministic_algorithms_enabled", "compile", "get_num_threads", "set_default_tensor_type",
    "set_float32_matmul_precision", "set_num_threads", "set_printoptions", "use_deterministic_algorithms",
]  # fmt: skip


def compile(model: Any = None, **options: Any) -> Any:
    """The function or module itself: it runs eagerly, with the same results."""
    return (lambda function: function) if model is None else model


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Nothing to do: all results are the same in each run."""


def are_deterministic_algorithms_enabled() -> bool:
    """True."""
    return True


def set_float32_matmul_precision(precision: str) -> None:
    """Nothing to do: products are as precise as their type."""


def set_num_threads(count: int) -> None:
    """Nothing to do: the cores are shared as Wengert and BLAS see fit (`OMP_NUM_THREADS`)."""


def get_num_threads() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_printoptions(
    precision: int | None = None,
    threshold: Any = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are printed; without arguments, and with `profile="default"`, as at first."""
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    if profile not in (None, "default"):
        raise user_error(ValueError, f"profile={profile!r}", "Pass precision, threshold, edgeitems and linewidth.")
    if profile == "default":
        PRINTING.clear()
        PRINTING.update(precision=4)
    PRINTING.update({key: value for key, value in given.items() if value is not None})
    if sci_mode is not None:
        PRINTING["suppress_small"] = not sci_mode


PRINTING: dict[str, Any] = {"precision": 4}
"""Options of `np.array2string` for tensors."""


def set_default_tensor_type(kind: Any) -> None:
    """The type of new tensors: `torch.DoubleTensor`, or its name."""
    found = TYPED.get(kind.removeprefix("torch.")) if isinstance(kind, str) else kind
    if found is None:
        raise user_error(TypeError, f"There is no type of tensors {kind!r}")
    set_default_dtype(found.dtype)
