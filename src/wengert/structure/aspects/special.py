"""Special functions with an argument that has no derivative: each element by itself."""

from __future__ import annotations

from wengert.ops.elementwise.bits import _ldexp
from wengert.ops.special.bessel import _iv, _jv, _kv, _yv
from wengert.ops.special.gamma import _polygamma_op, _zeta
from wengert.structure.propagation import propagate_elementwise, propagation

propagation.enter(propagate_elementwise, _jv, _yv, _iv, _kv, _polygamma_op, _zeta, _ldexp)
