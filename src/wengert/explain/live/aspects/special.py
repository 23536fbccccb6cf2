"""Special functions as JavaScript: those of `explain/live/assets`, by their names there."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.aspects import Operation, primitive_of
from wengert.explain.live.javascript import CodeWriter, Form, NoForm, element, javascript
from wengert.graph.ir import Operation as GraphNode
from wengert.ops.special import (
    bessel,
    combinatorial,
    entropy,
    error,
    gamma,
    hypergeometric,
    incomplete,
    integrals,
    quantile,
)

operation: Operation
for operation in (
    gamma.gamma, gamma.gammaln, gamma.digamma, gamma.rgamma, gamma.gammasgn, integrals.exp1, integrals.expi,
    error.erf, error.erfc, error.erfinv, error.erfcinv, error.ndtr, error.ndtri, entropy.entr,
):  # fmt: skip
    javascript.enter(element(f"{primitive_of(operation).name}({{0}})"), operation)

for operation in (
    gamma.beta, gamma.betaln, combinatorial.binom, entropy.xlogy, entropy.xlog1py, gamma._zeta, gamma._polygamma_op,
    incomplete.gammaincc, quantile.gammaincinv, quantile.gammainccinv, quantile.stdtr, quantile.stdtrit,
    bessel._jv, bessel._yv, bessel._iv, bessel._kv, bessel._kve,
):  # fmt: skip
    javascript.enter(element(f"{primitive_of(operation).name}({{0}}, {{1}})"), operation)

for order, (j, y, i, scaled) in enumerate(
    ((bessel.j0, bessel.y0, bessel.i0, bessel.i0e), (bessel.j1, bessel.y1, bessel.i1, bessel.i1e))
):
    for name, operation in (("jv", j), ("yv", y), ("iv", i), ("ive", scaled)):
        javascript.enter(element(f"{name}({order}, {{0}})"), operation)

for template, operation in (
    ("({0} > 0 ? gammaln({0}) : NaN)", gamma.loggamma),
    ("logNdtr({0})", error.log_ndtr),
    ("erfcx({0}, {order})", error._erfcx),
    ("expn({0}, {n})", integrals._expn),
    ("si({0})", integrals._si),
    ("ci({0})", integrals._ci),
    ("lambertw({0}, {k})", integrals._lambertw),
    ("ive({v}, {0})", bessel._ive),
    ("relEntr({0}, {1})", entropy.rel_entr),
    ("relEntr({0}, {1}) - {0} + {1}", entropy.kl_div),
    ("Math.log({0} / (1 - {0}))", entropy.logit),
    ("hyp2f1({0}, {1}, {2}, {3})", hypergeometric._hyp2f1),
    ("betaincinv({0}, {1}, {2})", quantile.betaincinv),
):
    javascript.enter(element(template), operation)


def of_low_order(template: str) -> Form:
    """A function with derivatives with respect to its parameters, of which the page has the first one."""

    def form(writer: CodeWriter, node: GraphNode, args: Sequence[str]) -> str:
        order = node.params["order"]
        if (order if isinstance(order, int) else sum(order)) > 1:
            raise NoForm(
                f"the second derivative of {node.primitive.name} with respect to a parameter is not recomputed"
            )
        return element(template)(writer, node, args)

    return form


javascript.enter(of_low_order("gammainc({0}, {1}, {order})"), incomplete.gammainc_in_order)
javascript.enter(of_low_order("betainc({0}, {1}, {2}, {order})"), incomplete.betainc_in_order)
javascript.enter(of_low_order("oddIntegral({0}, {1}, {order})"), quantile.odd_integral)
