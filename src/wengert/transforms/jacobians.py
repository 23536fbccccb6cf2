"""Jacobians, by the cheaper mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Never

import numpy as np

from wengert.core import machine
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.levels import has_user_tensor, numpy_of
from wengert.core.spec import Spec
from wengert.core.tree import Structure, flatten
from wengert.modes.forward import zeros_like
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import moveaxis, reshape
from wengert.transforms.boundary import Argnums, Arguments, P, flatten_arrays, hand_out, unflatten_arrays
from wengert.transforms.gradients import Tape
from wengert.transforms.products import push_forward
from wengert.transforms.transformed_function import TransformedFunction
from wengert.transforms.vmap import run_batched

__all__ = ["jacfwd", "jacobian", "jacrev"]

MODES = ("auto", "forward", "reverse")
HOOKS: dict[str, Callable[..., Any]] = {}
"""Functions of layers above this one, by name.

"compression" makes, of f and argnums, an object that plans and computes a Jacobian through its sparsity pattern.
"""


def register_hook(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function is the hook of that name."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        HOOKS[name] = function
        return function

    return register


class Plan(NamedTuple):
    """How a Jacobian is computed: in which mode, in how many passes, and why."""

    mode: str
    passes: int
    why: str

    @property
    def text(self) -> str:
        return f"{self.mode}, {self.passes} pass{'es' * (self.passes != 1)}: {self.why}"


class Jacobian(TransformedFunction[P]):
    """The function that computes the Jacobian of `f`; `explain` returns its plan."""

    def __init__(
        self,
        f: Callable[P, Any],
        argnums: Argnums,
        mode: str,
        chunk_size: int | None,
        holomorphic: bool,
        explain: bool = False,
    ):
        if mode not in MODES:
            raise user_error(ValueError, f"jacobian: mode={mode!r}", f"Choose one of {', '.join(map(repr, MODES))}.")
        if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
            raise user_error(
                ValueError,
                f"jacobian: chunk_size={chunk_size!r}",
                "It is a positive number of passes, or None for all.",
            )
        super().__init__(f, "Jacobian", argnums)
        self.argnums = argnums
        self.mode, self.chunk_size, self.holomorphic, self.prints = mode, chunk_size, holomorphic, explain

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        chosen, plan, tape = self.make_plan(args, kwargs)
        if self.prints:
            print(f"jacobian: {plan.text}")
        return self.compute(chosen, plan, tape, args, kwargs)

    def compute(
        self, chosen: Arguments, plan: Plan, tape: Tape | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if plan.mode == "forward":
            return self.by_columns(chosen)
        assert tape is not None
        return self.by_rows(chosen, tape) if plan.mode == "reverse" else self.by_colors(chosen, tape, args, kwargs)

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Plan:
        """The plan for these arguments.

        >>> jacobian(lambda x: x[:2] * x[2]).explain(np.ones(3))
        Plan(mode='reverse', passes=2, why='2 outputs are fewer than 3 inputs')
        """
        return self.make_plan(args, kwargs)[1]

    def make_plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Arguments, Plan, Tape | None]:
        """The differentiated arguments, the plan, and the function's tape if making the plan recorded one."""
        chosen = Arguments("jacobian", self.argnums, args, kwargs)
        for i, x in enumerate(chosen.leaves):
            if (x.dtype.kind == "c") != self.holomorphic:
                advice = (
                    "Leave holomorphic out."
                    if self.holomorphic
                    else "Pass holomorphic=True if the function is, else split re and im."
                )
                raise user_error(GradientError, f"jacobian: {chosen.leaf_name(i)} has dtype {x.dtype}", advice)
        inputs = sum(x.size for x in chosen.leaves)
        if self.mode == "forward":
            return chosen, Plan("forward", inputs, "as asked for"), None
        if self.mode == "auto" and inputs <= 1:
            return chosen, Plan("forward", inputs, "there is one input" if inputs else "there are no inputs"), None
        tape = Tape(lambda leaves: chosen.call(self.f, leaves), chosen.leaves)
        results = flatten_arrays(tape.result)[0]
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
            fewer = "one output is" if outputs == 1 else f"{outputs} outputs are"
            plan = Plan("reverse", outputs, f"{fewer} fewer than {inputs} inputs")
        else:
            plan = Plan("forward", inputs, f"{inputs} inputs are not more than {outputs} outputs")
        if plan.passes >= machine.current.min_passes_of_compressed_jacobian and self.compression is not None:
            sparse = self.compression.plan(args, kwargs, plan.passes)
            plan = sparse if sparse.mode == "sparse" else plan._replace(why=f"{plan.why}; {sparse.why}")
        return chosen, plan, tape

    @cached_property
    def compression(self) -> Any:
        """The way through the sparsity pattern, where there is one."""
        make = HOOKS.get("compression")
        return make(self.f, self.argnums) if make is not None and not self.holomorphic else None

    def by_columns(self, chosen: Arguments) -> Any:
        """One forward pass for each input: how all outputs change with it."""
        structure: list[Structure] = []

        def run(tangents: Sequence[Any]) -> list[Any]:
            _, tangent, _ = push_forward(
                lambda leaves: chosen.call(self.f, leaves), chosen.leaves, tangents, chosen.call_arguments
            )
            leaves, found = flatten_arrays(tangent)
            structure[:] = [found]
            return leaves

        columns = run_each(run, basis(chosen.leaves, list(map(Spec.of, chosen.leaves))), self.chunk_size)
        return unflatten_arrays(structure[0], [assemble_columns(column, chosen) for column in columns])

    def by_rows(self, chosen: Arguments, tape: Tape) -> Any:
        """One backward pass for each output: how it changes with all inputs."""
        results, structure = flatten_arrays(tape.result)
        specs = [Spec(y.shape, y.dtype if y.dtype.kind in "fc" else np.dtype(float)) for y in results]

        def run(cotangents: Sequence[Any]) -> list[Any]:
            found = tape.pull(results, cotangents, retain=True)
            return [zeros_like(x) if t is None else t for t, x in zip(found, chosen.leaves, strict=True)]

        return split_blocks(run_each(run, basis(results, specs), self.chunk_size), specs, structure, chosen)

    def by_colors(self, chosen: Arguments, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One pass for each colour of the sparsity pattern."""
        results, structure = flatten_arrays(tape.result)
        whole = self.compression.matrix(args, kwargs)
        whole = whole if isinstance(whole, Array) else whole.toarray()
        columns = [whole[:, start:stop] for start, stop in ranges(list(map(Spec.of, chosen.leaves)))]
        return split_blocks(columns, list(map(Spec.of, results)), structure, chosen)


def jacobian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    mode: str = "auto",
    chunk_size: int | None = None,
    holomorphic: bool = False,
    explain: bool = False,
    **foreign: Never,
) -> Jacobian[P]:
    """The function that computes the Jacobian of `f`.

    For each array of the result it returns a tree like the argument, of arrays of shape result + argument.

    "auto" takes the mode with fewer passes: one per input in forward mode, one per output in reverse mode, one per
    colour of the sparsity pattern where both would be many. `jacobian(f).explain(x)` says which, and `explain=True`
    prints it with each call. `chunk_size` limits how many passes run at once.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    if foreign:
        refuse_keywords(foreign)
    return Jacobian(f, argnums, mode, chunk_size, holomorphic, explain)


def jacfwd(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    **foreign: Never,
) -> Jacobian[P]:
    """`jacobian` in forward mode: one pass per input.

    >>> jacfwd(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    if foreign:
        refuse_keywords(foreign)
    return Jacobian(f, argnums, "forward", chunk_size, holomorphic)


def jacrev(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    **foreign: Never,
) -> Jacobian[P]:
    """`jacobian` in reverse mode: one pass per output.

    >>> jacrev(lambda x: x**2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    if foreign:
        refuse_keywords(foreign)
    return Jacobian(f, argnums, "reverse", chunk_size, holomorphic)


def split_blocks(rows: Sequence[Any], specs: Sequence[Spec], structure: Structure, chosen: Arguments) -> Any:
    """A tree of blocks, from one array for each input whose first axis has the elements of all outputs."""
    blocks: list[list[Any]] = [[] for _ in specs]
    for row, x in zip(rows, chosen.leaves, strict=True):
        for block, (start, stop), spec in zip(blocks, ranges(specs), specs, strict=True):
            block.append(
                hand_out(reshape(row[start:stop], spec.shape + x.shape), has_user_tensor(x), chosen.call_arguments)
            )
    return unflatten_arrays(structure, [unflatten_arrays(chosen.structure, block) for block in blocks])


def run_each(
    run: Callable[[Sequence[Any]], list[Any]], rows: Sequence[Any], chunk_size: int | None = None
) -> list[Any]:
    """The results of `run`, a function of a list of arrays, for each index of their first axis, stacked.

    Where that axis is empty, one run on zeros gives the shapes.
    """
    count = rows[0].shape[0] if rows else 0
    if not count:
        outs = run([numpy_of(r).zeros(r.shape[1:], r.dtype)[()] for r in rows])
        return [numpy_of(out).zeros((0, *out.shape), out.dtype) for out in outs]
    if chunk_size == 1 or count == 1:
        results = [run([row[i] for row in rows]) for i in range(count)]
        return [stack(column) for column in zip(*results, strict=True)]
    return run_batched(lambda *row: run(row), *flatten((tuple(rows), {})), chunk_size=chunk_size)[0]


def basis(arrays: Sequence[Any], specs: Sequence[Spec]) -> list[Any]:
    """The unit vectors of a space of several arrays: one array for each, whose first axis counts the vectors.

    They have these specs, and are where the arrays are.
    """
    total = sum(spec.size for spec in specs)
    vectors = []
    for (start, _), spec, array in zip(ranges(specs), specs, arrays, strict=True):
        block = numpy_of(array).eye(total, spec.size, -start, spec.dtype)
        vectors.append(block.reshape(total, *spec.shape))
    return vectors


def ranges(specs: Sequence[Spec]) -> Iterator[tuple[int, int]]:
    """The range of the elements of each array among those of all."""
    start = 0
    for spec in specs:
        yield start, start + spec.size
        start += spec.size


def assemble_columns(column: Any, chosen: Arguments) -> Any:
    """The derivatives of one output along each unit vector, as a tree like the inputs, with their axes last."""
    specs = list(map(Spec.of, chosen.leaves))
    user = any(map(has_user_tensor, chosen.leaves))
    parts = [column[start:stop] for start, stop in ranges(specs)]
    blocks = [reshape(moveaxis(p, 0, -1), p.shape[1:] + spec.shape) for p, spec in zip(parts, specs, strict=True)]
    return unflatten_arrays(chosen.structure, [hand_out(block, user, chosen.call_arguments) for block in blocks])
