"""The types of values in LLVM text, and constants."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

Number = int | float | bool


PARTS = {"c": 2, "d": 2, "q": 4}
"""The number of floats of complex numbers, and of states of two or four numbers, by the first letter of the kind."""


class Type(NamedTuple):
    """The type of a value: `f64`, `f32`, `c128`, `c64`, `i64` ... `i1` or `ptr`, and the number of lanes.

    States of reductions are `d128` and `d64` (two floats), `q256` and `q128` (four).
    """

    kind: str
    lanes: int = 1

    @property
    def scalar(self) -> str:
        """LLVM's name for one element."""
        return SCALARS.get(self.kind, self.kind)

    @property
    def text(self) -> str:
        return _text(self.kind, self.lanes)

    @property
    def is_float(self) -> bool:
        return self.kind[0] == "f"

    @property
    def is_complex(self) -> bool:
        return self.kind[0] == "c"

    @property
    def parts(self) -> int:
        """The number of registers of a value."""
        return PARTS.get(self.kind[0], 1)

    @property
    def part(self) -> Type:
        """The type of the real and the imaginary part, or of the numbers of a state; else the type itself."""
        return self.of(f"f{self.bits // self.parts}") if self.parts > 1 else self

    @property
    def bits(self) -> int:
        return 64 if self.kind == "ptr" else int(self.kind[1:])

    @property
    def align(self) -> int:
        """The bytes to which elements in memory are aligned."""
        return self.part.bits // 8

    @property
    def suffix(self) -> str:
        """The type in the names of LLVM's intrinsics: `v8f64`."""
        return f"v{self.lanes}{self.kind}" if self.lanes > 1 else self.kind

    @property
    def in_memory(self) -> Type:
        """The type of the same elements in memory, where booleans are bytes."""
        return self.of("i8") if self.kind == "i1" else self

    def of(self, kind: str) -> Type:
        """As many lanes of another kind."""
        return Type(kind, self.lanes)

    @classmethod
    def from_dtype(cls, dtype: np.dtype, lanes: int = 1) -> Type:
        """The type of elements in registers."""
        letter = dtype.kind if dtype.kind in "fc" else "i"
        return cls("i1" if dtype.kind == "b" else f"{letter}{8 * dtype.itemsize}", lanes)


SCALARS = {
    "f64": "double", "f32": "float", "c128": "{ double, double }", "c64": "{ float, float }",
    "d128": "{ double, double }", "d64": "{ float, float }",
    "q256": "{ double, double, double, double }", "q128": "{ float, float, float, float }",
}  # fmt: skip


_TEXTS: dict[tuple[str, int], str] = {}


def _text(kind: str, lanes: int) -> str:
    text = _TEXTS.get((kind, lanes))
    if text is None:
        scalar = Type(kind).scalar
        text = _TEXTS[kind, lanes] = f"<{lanes} x {scalar}>" if lanes > 1 else scalar
    return text


I64, PTR, BOOL = Type("i64"), Type("ptr"), Type("i1")


def constant_text(value: Number | complex, type: Type) -> str:
    """A constant in LLVM text: floats by their bits, exactly."""
    if isinstance(value, complex) or type.is_complex:
        parts = [constant_text(part, type.part) for part in (complex(value).real, complex(value).imag)]
        text = f"{{ {type.part.scalar} {parts[0]}, {type.part.scalar} {parts[1]} }}"
    elif type.is_float:
        rounded = np.float32(value) if type.kind == "f32" else float(value)
        text = f"0x{struct.unpack('<Q', struct.pack('<d', float(rounded)))[0]:016X}"
    elif type.kind == "i1":
        text = "true" if value else "false"
    else:
        text = str(int(value))
    return f"splat ({type.scalar} {text})" if type.lanes > 1 else text
