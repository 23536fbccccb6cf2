"""Sums, products, extremes and norms along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.graph.ir import Operation
from wengert.graph.mathematics import Expression, Writer, expression
from wengert.graph.notation import FRACTION, Fence, NamedFunction, notation
from wengert.graph.python_source import python_call, reduction_call, template
from wengert.graph.sympy import same_number, sympy_form, sympy_number
from wengert.ops.linear_algebra import norms
from wengert.ops.reductions import cumulative, extremes, logical, named_axes, sums, without_nan

notation.enter(NamedFunction("max", r"\max"), extremes._max)
notation.enter(NamedFunction("min", r"\min"), extremes._min)
notation.enter(NamedFunction("arg max", r"\mathrm{arg\,max}"), extremes._argmax)
notation.enter(NamedFunction("arg min", r"\mathrm{arg\,min}"), extremes._argmin)
notation.enter(Fence("#(", ")", r"\#\left(", r"\right)"), logical._count_nonzero)
notation.enter(Fence("‖", "‖", r"\left\Vert ", r"\right\Vert "), norms._norm)


def large(plain: str, latex: str) -> Callable[[Writer, Operation], Expression]:
    """The writer of a sum or product over axes, whose sign stands before the operand."""

    def write(writer: Writer, node: Operation) -> Expression:
        x, axis = node.args[0], node.params["axis"]
        inside = writer.known[x]
        if not axis:
            return inside
        sign = writer.style.subscript(
            writer.style.pick((plain, latex)), "" if len(axis) == x.ndim else ",".join(map(str, axis))
        )
        negative, inside = plain == "Σ" and inside.negative, inside._replace(negative=inside.negative and plain != "Σ")
        return Expression(f"{sign} {writer.within(inside, FRACTION)}", FRACTION, negative=negative)

    return write


expression.enter(large("Σ", r"\sum"), sums._sum)
expression.enter(large("∏", r"\prod"), cumulative._prod)

python_call.enter(reduction_call("np.sum"), sums._sum)
python_call.enter(reduction_call("np.mean"), sums._mean)
python_call.enter(reduction_call("np.prod"), cumulative._prod)
python_call.enter(reduction_call("np.max"), extremes._max)
python_call.enter(reduction_call("np.min"), extremes._min)
python_call.enter(reduction_call("np.all"), logical._all)
python_call.enter(reduction_call("np.any"), logical._any)
python_call.enter(reduction_call("np.count_nonzero"), logical._count_nonzero)
python_call.enter(reduction_call("np.argmax"), extremes._argmax)
python_call.enter(reduction_call("np.argmin"), extremes._argmin)
python_call.enter(reduction_call("wg.logsumexp"), sums._logsumexp)
python_call.enter(template("np.cumsum({0}, axis={axis})"), cumulative._cumsum)
python_call.enter(template("np.cumprod({0}, axis={axis})"), cumulative._cumprod)


# SymPy has single numbers: a reduction of one gives it again.


@sympy_form(extremes._max)
def sympy_max(sympy: Any, x: Any, initial: Any = None, **_: Any) -> Any:
    """The number itself, or the larger of it and `initial`."""
    return x if initial is None else sympy.Max(x, sympy_number(initial, sympy))


@sympy_form(extremes._min)
def sympy_min(sympy: Any, x: Any, initial: Any = None, **_: Any) -> Any:
    """The number itself, or the smaller of it and `initial`."""
    return x if initial is None else sympy.Min(x, sympy_number(initial, sympy))


sympy_form.enter(lambda sympy, x, axis_name, size: x * size, named_axes._psum)
sympy_form.enter(
    same_number, sums._sum, sums._mean, cumulative._prod, sums._logsumexp, without_nan._nanmax, without_nan._nanmin
)
