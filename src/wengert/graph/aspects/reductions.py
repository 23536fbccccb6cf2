"""Sums, products, extremes and norms along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.graph.costs import flops, per_element
from wengert.graph.ir import Operation
from wengert.graph.mathematics import Expression, Writer, expression
from wengert.graph.notation import FRACTION, Fence, NamedFunction, notation
from wengert.graph.python_source import python_call, reduction_call, template
from wengert.graph.sympy import same_number, sympy_form, sympy_number
from wengert.ops.linear_algebra.norms import _norm
from wengert.ops.reductions.cumulative import _cumprod, _cumsum, _prod
from wengert.ops.reductions.extremes import _argmax, _argmin, _max, _min
from wengert.ops.reductions.logical import _all, _any, _count_nonzero
from wengert.ops.reductions.sums import _logsumexp, _mean, _sum
from wengert.ops.reductions.without_nan import _nanmax, _nanmin

notation.enter(NamedFunction("max", r"\max"), _max)
notation.enter(NamedFunction("min", r"\min"), _min)
notation.enter(NamedFunction("arg max", r"\mathrm{arg\,max}"), _argmax)
notation.enter(NamedFunction("arg min", r"\mathrm{arg\,min}"), _argmin)
notation.enter(Fence("‖", "‖", r"\left\Vert ", r"\right\Vert "), _norm)


def large(plain: str, latex: str) -> Callable[[Writer, Operation], Expression]:
    """A sum or product over axes, which stands before what it runs over."""

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


expression.enter(large("Σ", r"\sum"), _sum)
expression.enter(large("∏", r"\prod"), _prod)

python_call.enter(reduction_call("np.sum"), _sum)
python_call.enter(reduction_call("np.mean"), _mean)
python_call.enter(reduction_call("np.prod"), _prod)
python_call.enter(reduction_call("np.max"), _max)
python_call.enter(reduction_call("np.min"), _min)
python_call.enter(reduction_call("np.all"), _all)
python_call.enter(reduction_call("np.any"), _any)
python_call.enter(reduction_call("np.count_nonzero"), _count_nonzero)
python_call.enter(reduction_call("np.argmax"), _argmax)
python_call.enter(reduction_call("np.argmin"), _argmin)
python_call.enter(reduction_call("wg.logsumexp"), _logsumexp)
python_call.enter(template("np.cumsum({0}, axis={axis})"), _cumsum)
python_call.enter(template("np.cumprod({0}, axis={axis})"), _cumprod)


# SymPy has single numbers: a reduction of one gives it again.


@sympy_form(_max)
def sympy_max(sympy: Any, x: Any, initial: Any = None, **_: Any) -> Any:
    return x if initial is None else sympy.Max(x, sympy_number(initial, sympy))


@sympy_form(_min)
def sympy_min(sympy: Any, x: Any, initial: Any = None, **_: Any) -> Any:
    return x if initial is None else sympy.Min(x, sympy_number(initial, sympy))


sympy_form.enter(same_number, _sum, _mean, _prod, _logsumexp, _nanmax, _nanmin)

flops.enter(
    per_element(1), _sum, _mean, _prod, _max, _min, _all, _any, _count_nonzero, _argmax, _argmin, _cumsum, _cumprod
)
flops.enter(per_element(2), _norm)
flops.enter(per_element(3), _logsumexp)
