"""How nodes save values for rules, and how rules are called on them.

For each operation, the source of one-line lambdas is written and compiled. Few sources differ, so they are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from wengert.core.definition import needs
from wengert.core.spec import Spec


@cache
def _compile_lambda(source: str) -> Callable[..., Any]:
    function: Callable[..., Any] = eval(compile(source, __file__, "eval"), {"spec": Spec.of})
    return function


def keeper(inputs: tuple[str, ...], names: tuple[str | None, ...]) -> Callable[..., Any]:
    """`lambda x, y, out: (x, None)`: picks what a node saves."""

    def pick(name: str | None) -> str:
        if name is None:
            return "None"
        if not name.endswith("_spec"):
            return name
        value = name.removesuffix("_spec")
        return f"tuple(map(spec, {value}))" if f"*{value}" in inputs else f"spec({value})"

    signature = ", ".join(("out", *inputs))
    return _compile_lambda(f"lambda {signature}: ({''.join(pick(n) + ', ' for n in names)})")


def caller(
    rule: Callable[..., Any],
    wanted: tuple[str, ...],
    restore: Callable[[Any, dict[str, Any]], Any],
    expands: Sequence[str] = (),
) -> Callable[..., Any]:
    """`lambda t, saved, params: rule(t, saved[0], params["axis"])`: calls a rule on what a node saved.

    For the rule of a reduction, what is named in `expands` gets its reduced axes back, by `restore`.
    """

    def argument(name: str) -> str:
        text = name if name == "t" else f"saved[{wanted.index(name)}]" if name in wanted else f"params[{name!r}]"
        return f"restore({text}, params)" if name in expands else text

    arguments = ", ".join(map(argument, ("t", *needs(rule))))
    bind = _compile_lambda(f"lambda rule, restore: lambda t, saved, params: rule({arguments})")
    call: Callable[..., Any] = bind(rule, restore)
    return call
