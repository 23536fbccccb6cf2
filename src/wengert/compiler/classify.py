"""How each operation becomes native, and what it costs."""

from __future__ import annotations

from enum import Enum

from wengert.compiler.gather import is_native_key
from wengert.compiler.index import CHOICES, VIEWS, Affine, Counter
from wengert.compiler.library import is_uniform_stack
from wengert.compiler.rows import in_rows
from wengert.compiler.scalar import SUPPORTED, has_lowering
from wengert.compiler.simd.library import FUNCTIONS
from wengert.core.infer import infer, is_elementwise
from wengert.core.primitive import OUTPUT, lookup
from wengert.core.spec import Spec
from wengert.graph.ir import Node, Operation

REDUCTIONS = frozenset(("sum", "max", "min", "prod", "all", "any"))
UNROLLED_TERMS = 8
"""So many terms of a reduction are written out instead of looped over."""
COSTS = {"divide": 4, "divide_live": 4, "reciprocal": 4, "sqrt": 5, "root": 5}
FREE = frozenset(("copy", "stop_gradient", "positive", "conj", "real"))


class Kind(Enum):
    """How an operation becomes native."""

    GIVEN = "input or constant"
    ELEMENT = "computed element by element"
    VIEW = "only moves elements"
    CHOICE = "takes elements from one place or another"
    UNROLLED = "reduction of few terms, written out"
    GATHER = "reads at places that are computed"
    REDUCE = "reduction in a loop"
    SCATTER = "adds at places that are computed"
    LIBRARY = "BLAS"
    FALLBACK = "NumPy"
    OUTPUT = "one result of a call of NumPy that has several"


COMPUTED = (Kind.ELEMENT, Kind.CHOICE, Kind.UNROLLED, Kind.GATHER)


def kind_of(node: Node, rows: tuple[int, ...], tiny: bool = False) -> Kind:
    """How a node becomes native. Reductions within rows are written out, and in a tiny program everything is."""
    if not isinstance(node, Operation):
        return Kind.GIVEN
    primitive, name = node.primitive, node.primitive.name
    if primitive is OUTPUT:
        return Kind.OUTPUT
    if node.spec.__class__ is not Spec or node.dtype not in SUPPORTED or any(a.dtype not in SUPPORTED for a in node.args):
        return Kind.FALLBACK
    if name in VIEWS:
        return Kind.VIEW
    if name in ("copy", "astype", "astype_discrete", "stop_gradient") or is_elementwise(primitive):
        specs = [a.spec for a in node.args]
        return Kind.ELEMENT if has_lowering(name, specs, node.spec, node.params) else Kind.FALLBACK
    if name in REDUCTIONS:
        if node.params.get("initial") is not None and name in ("max", "min"):
            return Kind.FALLBACK
        operand = node.args[0]
        terms = operand.size // max(node.size, 1) if node.size else 0
        if not operand.size:
            return Kind.FALLBACK
        within = in_rows(operand, rows) and min(node.params["axis"], default=0) >= len(rows)
        return Kind.UNROLLED if tiny or within or terms <= UNROLLED_TERMS else Kind.REDUCE
    if name in CHOICES and len(node.args) == choice_arity(node):
        probe = tuple([Affine(0, ((Counter(i, n), 1),)) for i, n in enumerate(node.shape)])
        if tiny or CHOICES[name](probe, *[a.spec for a in node.args], **node.params) is not None:
            return Kind.CHOICE
    if name == "gather" and is_native_key(node.params["key"], node.args[0].shape, node.args[1:]):
        return Kind.GATHER
    if name == "scatter" and is_native_key(node.params["key"], node.shape, node.args[1:]) and fills_key(node):
        return Kind.SCATTER
    if is_for_blas(node) and (name == "matmul" or (name == "solve_triangular" and has_own_place(node))):
        return Kind.LIBRARY
    return Kind.FALLBACK


def choice_arity(node: Operation) -> int:
    """How many operands a choice has where no index is an array."""
    return {"concatenate": len(node.args), "stack": len(node.args), "set_at": 2}.get(node.primitive.name, 1)


def fills_key(node: Operation) -> bool:
    """Whether what is scattered has the shape of the place, without broadcasting."""
    reading = lookup("gather" if len(node.args) > 1 else "getitem")
    place = infer(reading, (node.spec, *[i.spec for i in node.args[1:]]), {"key": node.params["key"]})
    return place.shape == node.args[0].shape and node.dtype.kind in "fi"


def is_for_blas(node: Operation) -> bool:
    """Whether the operands are matrices of one floating-point dtype, or stacks of them that need no broadcasting."""
    return node.dtype.kind == "f" and all(a.ndim >= 2 and a.dtype == node.dtype for a in node.args) and is_uniform_stack(node)


def has_own_place(node: Operation) -> bool:
    """Whether the right-hand sides of systems fill the place of the result, in which they are solved, and nothing is a mere number."""
    return node.size > 1 and node.args[1].shape == node.shape and node.args[0].size > 1


def is_matrix_transpose(node: Node) -> bool:
    """Whether a view exchanges the last two axes, and nothing else."""
    if not (isinstance(node, Operation) and node.primitive.name == "transpose" and node.ndim >= 2):
        return False
    axes = node.params["axes"]
    return tuple(axes) == (*range(node.ndim - 2), node.ndim - 1, node.ndim - 2)


def is_reshape(node: Node) -> bool:
    return isinstance(node, Operation) and node.primitive.name in ("reshape", "expand_dims")


def own_cost(node: Operation) -> int:
    name = node.primitive.name
    if name in VIEWS or name in FREE:
        return 0
    if name in COSTS:
        return COSTS[name]
    return 16 if name in FUNCTIONS else 2 if name in CHOICES else 1


def work(node: Operation) -> int:
    """How many scalar operations a node stands for."""
    if node.spec.__class__ is not Spec:
        return 0
    return max([node.size, *[a.size for a in node.args if a.spec.__class__ is Spec and node.primitive.name in REDUCTIONS]])
