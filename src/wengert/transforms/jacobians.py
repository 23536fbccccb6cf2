"""Whole matrices of derivatives: Jacobians by the cheaper mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, update_wrapper
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.spec import Spec
from wengert.core.tree import Structure, flatten
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import moveaxis, reshape
from wengert.transforms.arguments import Argnums, Chosen, closed, opened
from wengert.transforms.runs import Tape, is_users, pushed, settled
from wengert.transforms.vmap import run_batched

__all__ = ["jacfwd", "jacobian", "jacrev"]

MODES = ("auto", "forward", "reverse")
MANY = 256
"""So many passes are worth a look for a sparsity pattern."""
SAVING = 4
"""How many times fewer passes are worth going through a pattern."""
COMPRESSION: list[Callable] = []
"""From the layer that knows sparsity patterns: what makes, of f and argnums, what chooses and computes
(`structure/choice.py`).
"""


class Plan(NamedTuple):
    """How a Jacobian is computed: in which mode, in how many passes, and why."""

    mode: str
    passes: int
    why: str

    @property
    def text(self) -> str:
        return f"{self.mode}, {self.passes} pass{'es' * (self.passes != 1)}: {self.why}"


class Jacobian:
    """The function that computes the Jacobian of `f`; `explain` says how it would."""

    def __init__(
        self, f: Callable, argnums: Argnums, mode: str, chunk_size: int | None, holomorphic: bool, explain: bool = False
    ):
        if mode not in MODES:
            raise user_error(ValueError, f"jacobian: mode={mode!r}", f"Choose one of {', '.join(map(repr, MODES))}.")
        if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
            raise user_error(
                ValueError,
                f"jacobian: chunk_size={chunk_size!r}",
                "It is a positive number of passes, or None for all.",
            )
        self.f, self.argnums, self.mode, self.chunk_size, self.holomorphic = f, argnums, mode, chunk_size, holomorphic
        self.prints = explain
        update_wrapper(self, f, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        chosen, plan, tape = self.planned(args, kwargs)
        if self.prints:
            print(f"jacobian: {plan.text}")
        return self.computed(chosen, plan, tape, args, kwargs)

    def computed(self, chosen: Chosen, plan: Plan, tape: Tape | None, args: tuple, kwargs: dict[str, Any]) -> Any:
        if plan.mode == "forward":
            return self.by_columns(chosen)
        assert tape is not None
        return self.by_rows(chosen, tape) if plan.mode == "reverse" else self.by_colors(chosen, tape, args, kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Plan:
        """The plan for these arguments.

        >>> jacobian(lambda x: x[:2] * x[2]).explain(np.ones(3))
        Plan(mode='reverse', passes=2, why='2 outputs are fewer than 3 inputs')
        """
        return self.planned(args, kwargs)[1]

    def planned(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Chosen, Plan, Tape | None]:
        """What is differentiated, how, and the function's tape where it was needed to know."""
        chosen = Chosen("jacobian", self.argnums, args, kwargs)
        for i, x in enumerate(chosen.leaves):
            if (x.dtype.kind == "c") != self.holomorphic:
                advice = (
                    "Leave holomorphic out."
                    if self.holomorphic
                    else "Pass holomorphic=True if the function is, else split re and im."
                )
                raise user_error(GradientError, f"jacobian: {chosen.place(i)} has dtype {x.dtype}", advice)
        inputs = sum(x.size for x in chosen.leaves)
        if self.mode == "forward":
            return chosen, Plan("forward", inputs, "as asked for"), None
        if self.mode == "auto" and inputs <= 1:
            return chosen, Plan("forward", inputs, "there is one input" if inputs else "there are no inputs"), None
        tape = Tape(lambda leaves: chosen.call(self.f, leaves), chosen.leaves)
        results = opened(tape.result)[0]
        outputs = sum(y.size for y in results)
        complex_outputs = not self.holomorphic and any(y.dtype.kind == "c" for y in results)
        if self.mode == "reverse":
            if complex_outputs:
                raise user_error(
                    GradientError, "jacobian: reverse mode of a complex function of real numbers", "Use mode='forward'."
                )
            return chosen, Plan("reverse", outputs, "as asked for"), tape
        if complex_outputs:
            return chosen, Plan("forward", inputs, "the outputs are complex, the inputs real"), tape
        if outputs < inputs:
            plan = Plan("reverse", outputs, f"{outputs} outputs are fewer than {inputs} inputs")
        else:
            plan = Plan("forward", inputs, f"{inputs} inputs are not more than {outputs} outputs")
        if plan.passes >= MANY and self.compression is not None:
            sparse = self.compression.plan(args, kwargs, plan.passes)
            plan = sparse if sparse.mode == "sparse" else plan._replace(why=f"{plan.why}; {sparse.why}")
        return chosen, plan, tape

    @cached_property
    def compression(self) -> Any:
        return COMPRESSION[0](self.f, self.argnums) if COMPRESSION and not self.holomorphic else None

    def by_columns(self, chosen: Chosen) -> Any:
        """One forward pass for each input: how all outputs change with it."""
        structure: list[Structure] = []

        def run(tangents: Sequence[Any]) -> list:
            _, tangent, _ = pushed(lambda leaves: chosen.call(self.f, leaves), chosen.leaves, tangents, chosen.given)
            leaves, found = opened(tangent)
            structure[:] = [found]
            return leaves

        columns = several(run, basis(list(map(Spec.of, chosen.leaves))), self.chunk_size)
        return closed(structure[0], [assembled(column, chosen) for column in columns])

    def by_rows(self, chosen: Chosen, tape: Tape) -> Any:
        """One walk back from each output: how it changes with all inputs."""
        results, structure = opened(tape.result)
        specs = [Spec(y.shape, y.dtype if y.dtype.kind in "fc" else np.dtype(float)) for y in results]

        def run(cotangents: Sequence[Any]) -> list:
            found = tape.pull(results, cotangents, retain=True)
            return [np.zeros(x.shape, x.dtype) if t is None else t for t, x in zip(found, chosen.leaves, strict=True)]

        return in_blocks(several(run, basis(specs), self.chunk_size), specs, structure, chosen)

    def by_colors(self, chosen: Chosen, tape: Tape, args: tuple, kwargs: dict[str, Any]) -> Any:
        """One pass for each colour of the pattern, and zeros elsewhere."""
        results, structure = opened(tape.result)
        whole = self.compression.matrix(args, kwargs)
        whole = whole if isinstance(whole, Array) else whole.toarray()
        columns = [whole[:, start:stop] for start, stop in ranges(list(map(Spec.of, chosen.leaves)))]
        return in_blocks(columns, list(map(Spec.of, results)), structure, chosen)


def jacobian(
    f: Callable,
    argnums: Argnums = 0,
    mode: str = "auto",
    chunk_size: int | None = None,
    holomorphic: bool = False,
    explain: bool = False,
) -> Jacobian:
    """The function that computes the Jacobian of `f`: for each array of its result a tree like the argument, of shape
    result + argument.

    "auto" takes the mode with fewer passes: one per input in forward mode, one per output in reverse, one per colour of
    the sparsity pattern where both would be many; `jacobian(f).explain(x)` says which, and `explain=True` prints it
    with each call. `chunk_size` bounds how many passes run at once.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return Jacobian(f, argnums, mode, chunk_size, holomorphic, explain)


def jacfwd(f: Callable, argnums: Argnums = 0, chunk_size: int | None = None, holomorphic: bool = False) -> Jacobian:
    """`jacobian` in forward mode: one pass per input.

    >>> jacfwd(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return Jacobian(f, argnums, "forward", chunk_size, holomorphic)


def jacrev(f: Callable, argnums: Argnums = 0, chunk_size: int | None = None, holomorphic: bool = False) -> Jacobian:
    """`jacobian` in reverse mode: one pass per output.

    >>> jacrev(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return Jacobian(f, argnums, "reverse", chunk_size, holomorphic)


def in_blocks(rows: Sequence[Any], specs: Sequence[Spec], structure: Structure, chosen: Chosen) -> Any:
    """A tree of blocks, from an array for each input that has all elements of the outputs along its first axis."""
    blocks: list[list] = [[] for _ in specs]
    for row, x in zip(rows, chosen.leaves, strict=True):
        for block, (start, stop), spec in zip(blocks, ranges(specs), specs, strict=True):
            block.append(settled(reshape(row[start:stop], spec.shape + x.shape), is_users(x), chosen.given))
    return closed(structure, [closed(chosen.structure, block) for block in blocks])


def several(run: Callable[[Sequence[Any]], list], rows: Sequence[Any], chunk_size: int | None = None) -> list:
    """`run`, a function of a list of arrays, for each entry along their first axis; its results stacked along theirs.

    Where there are no entries, one run on zeros shows the shapes.
    """
    count = rows[0].shape[0] if rows else 0
    if not count:
        return [np.zeros((0, *out.shape), out.dtype) for out in run([np.zeros(r.shape[1:], r.dtype)[()] for r in rows])]
    if chunk_size == 1 or count == 1:
        results = [run([row[i] for row in rows]) for i in range(count)]
        return [stack(column) for column in zip(*results, strict=True)]
    return run_batched(lambda *row: run(row), *flatten((tuple(rows), {})), chunk_size=chunk_size)[0]


def basis(specs: Sequence[Spec]) -> list[np.ndarray]:
    """The unit vectors of a space of several arrays, as one array for each, with the number of the vector along its
    first axis.
    """
    total = sum(spec.size for spec in specs)
    vectors = []
    for (start, stop), spec in zip(ranges(specs), specs, strict=True):
        block = np.zeros((total, spec.size), spec.dtype)
        block[range(start, stop), range(spec.size)] = 1
        vectors.append(block.reshape(total, *spec.shape))
    return vectors


def ranges(specs: Sequence[Spec]) -> Iterator[tuple[int, int]]:
    """Where the elements of each array are among those of all."""
    start = 0
    for spec in specs:
        yield start, start + spec.size
        start += spec.size


def assembled(column: Any, chosen: Chosen) -> Any:
    """What one output gives along each unit vector, as a tree like the inputs, with their axes last."""
    specs = list(map(Spec.of, chosen.leaves))
    user = any(map(is_users, chosen.leaves))
    parts = [column[start:stop] for start, stop in ranges(specs)]
    blocks = [reshape(moveaxis(p, 0, -1), p.shape[1:] + spec.shape) for p, spec in zip(parts, specs, strict=True)]
    return closed(chosen.structure, [settled(block, user, chosen.given) for block in blocks])
