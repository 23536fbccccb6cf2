"""What programs need to give functions rules of their own: `autograd.extend`."""

from wengert.compat.autograd.core import (
    JVPNode,
    SparseObject,
    VJPNode,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    vspace,
)
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.tracer import Box, notrace_primitive, primitive, register_notrace
from wengert.compat.differences import without

__all__ = [
    "Box",
    "JVPNode",
    "SparseObject",
    "VJPNode",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "register_notrace",
    "vspace",
]

__getattr__ = without(__name__, ABSENT)
