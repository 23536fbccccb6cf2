"""Checkpoints: compute again on the way back what would otherwise have to be kept.

A function under `checkpoint` is one operation to the tape, which keeps its arguments only. The walk back runs the
function once more, on a tape of its own, and pulls back through that. Forward modes need no memory for a way back, and
run the function as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import count
from math import comb
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import SHAPED, Primitive, gives_constants, new_level
from wengert.modes import recording
from wengert.modes.reverse import Tensor, snapshot
from wengert.modes.tape import Node, next_sequence, pull_back
from wengert.transforms.call import Call, Transposed, bare, is_smooth, layers, operation, tensors

__all__ = ["checkpoint", "checkpoint_loop", "checkpoint_sequential"]

Policy = Callable[[str], bool]


def checkpoint(f: Callable, policy: Policy | None = None) -> Callable:
    """`f`, of which reverse mode keeps the arguments only, and runs it again for the gradient.

    `f` must do the same each time it is called. `policy` says by name of which operations the results are kept and not
    computed again, for example `lambda name: name == "matmul"`. Tensors that `f` uses without being given them get
    their gradients too; pass them as arguments (in a list or dict) for second derivatives, with a policy, and where
    they belong to another transform.

    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> checkpoint(lambda x: np.sin(np.exp(x)))(x).backward()
    >>> bool(x.grad == np.cos(np.exp(2.0)) * np.exp(2.0))
    True
    """
    name = getattr(f, "__name__", "function")

    @wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not recording.recording():
            return f(*args, **kwargs)
        call = Checkpoint(name, (args, kwargs), policy)
        call.function = lambda args, kwargs: f(*args, **kwargs)
        return call(CHECKPOINT)

    return checkpointed


CHECKPOINT, LOOP = operation("checkpoint"), operation("checkpoint_loop")


def checkpoint_sequential(functions: Sequence[Callable], segments: int, x: Any) -> Any:
    """The functions one after the other on `x`, in so many segments, of which reverse mode keeps what goes in, and the
    last one in full.

    >>> x = Tensor(np.float64(0.5)).requires_grad_()
    >>> checkpoint_sequential([np.sin, np.exp, np.sqrt], 2, x).backward()
    """
    if segments < 1:
        raise user_error(ValueError, f"checkpoint_sequential needs at least one segment, not {segments}")
    functions = list(functions)
    bounds = [len(functions) * i // segments for i in range(segments + 1)]
    parts = [functions[start:stop] for start, stop in zip(bounds, bounds[1:], strict=False)]
    for i, part in enumerate(parts):
        run = chain(part)
        x = run(x) if i == len(parts) - 1 else checkpoint(run)(x)
    return x


def chain(functions: Sequence[Callable]) -> Callable:
    def segment(x: Any) -> Any:
        for f in functions:
            x = f(x)
        return x

    return segment


class Captured(Exception):  # a message from a run to its call
    """The results of a run that used tensors which were not among the arguments, and the level of those."""

    def __init__(self, outs: Sequence[Any], level: int):
        self.outs, self.level = outs, level


class Checkpoint(Call):
    """A call that is made again on the way back."""

    def __init__(self, name: str, args: tuple, policy: Policy | None = None):
        super().__init__(name, args)
        self.policy = policy
        self.kept: list[Results] = []  # of the run on plain numbers, for the one walk back that is not recorded
        self.known: list[tuple] = []  # results that were computed when captured tensors were found
        self.captured: list[Node] = []
        self.captured_level = 0

    def __call__(self, primitive: Primitive) -> Any:
        start = next_sequence()
        try:
            return super().__call__(primitive)
        except Captured as found:
            levels = {x.level for a in self.arrays for x in layers(a) if bare(x) is x}
            if levels - {found.level} or self.policy is not None:
                raise self.hidden() from None
            self.captured = made_before(
                start, [y.node for y in found.outs if isinstance(y, Tensor) and y.node is not None]
            )
            self.captured_level = found.level
            self.known.append(tuple([y.value if isinstance(y, Tensor) else y for y in found.outs]))
        self.arrays += [Tensor(NOTHING, self.captured_level, node) for node in self.captured]
        return super().__call__(primitive)

    def run(self, x: Sequence[Any]) -> tuple:
        if self.known:
            return self.known.pop()
        if self.policy is None:
            return super().run(x)
        level, results = new_level(), Results(self.policy)
        outs = self.opened(self.function(*self.assemble([Kept(a, level, results) for a in tensors(x)])))
        self.kept = [results]
        return self.plain(
            tree.unflatten(
                self.structure_out, [y.value if isinstance(y, Kept) and y.level == level else y for y in outs]
            )
        )

    def plain(self, out: Any) -> tuple:
        outs = self.opened(out)
        tracked = [x for y in outs for x in layers(y) if bare(x) is x]
        if tracked and all(isinstance(x, Tensor) and x.level == tracked[0].level for x in tracked):
            raise Captured([bare(y) for y in outs], tracked[0].level)
        return super().plain(out)

    def other_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple:
        return self.straight(x)

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        x = x[: len(x) - len(self.captured)]
        plain = not any(isinstance(v, Array) for v in (*t, *x))
        if self.captured and not plain:
            raise self.hidden()
        specs = self.specs
        with Transposed([v if alive else None for v, alive in zip(x, live, strict=False)]) as tape:
            inputs = [i if i is not None else v for v, i in zip(tensors(x, t), tape.inputs, strict=True)]
            if plain and self.kept:
                level, results = new_level(), self.kept.pop().again()
                outs = [
                    y.value if isinstance(y, Kept) and y.level == level else y
                    for y in self.straight([Kept(a, level, results) for a in inputs])
                ]
            else:
                outs = list(self.straight(inputs))
            if self.specs != specs:
                raise user_error(
                    GradientError,
                    f"{self.name} gave {self.specs} when it ran again for the gradient, and {specs} before",
                )
            below = [y.value if isinstance(y, Tensor) and y.level == tape.level else y for y in outs]
            found = tape.transpose(outs, t)
            if not self.captured:
                return found
            return [self.lowered(c) for c in found] + self.pull_captured(below, t)

    def pull_captured(self, outs: Sequence[Any], t: Sequence[Any]) -> list:
        """The cotangents of the captured tensors, from their own tape, on which the second run was recorded too."""
        seeds: dict[Node, Any] = {}
        for y, c in zip(outs, t, strict=True):
            if c is not None and isinstance(y, Tensor) and y.node is not None:
                seeds[y.node] = seeds[y.node] + c if y.node in seeds else c
        found: dict[Node, Any] = {}
        pull_back(seeds, found.__setitem__, targets=set(self.captured))
        return [found.get(node) for node in self.captured]

    def lowered(self, c: Any) -> Any:
        """A cotangent without the history that captured tensors gave it."""
        return c.value if isinstance(c, Tensor) and c.level == self.captured_level else c


NOTHING = np.empty(0)


def made_before(start: int, roots: Iterable[Node]) -> list[Node]:
    """The nodes that were there at the start and that what was made since was made of."""
    seen = set(roots)
    stack, found = list(seen), []
    while stack:
        node = stack.pop()
        if node.sequence < start:
            found.append(node)
            continue
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(found, key=lambda node: node.sequence)


class Results:
    """What the operations that a policy chose have computed, in the order in which they ran."""

    def __init__(self, policy: Policy, outs: Iterable[Any] | None = None):
        self.policy = policy
        self.outs: list = []
        self.replayed = None if outs is None else iter(outs)

    def again(self) -> Results:
        """To be handed out in a second run."""
        return Results(self.policy, self.outs)

    def of(self, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
        if not self.policy(primitive.name):
            return primitive.op(*values, **params)
        if self.replayed is None:
            out = primitive.op(*values, **params)
            self.outs.append(tuple(map(bare, out)) if primitive.outputs != 1 else bare(out))
            return out
        out = next(self.replayed)
        top = max((a for a in values if isinstance(a, Array)), key=lambda a: a.level, default=None)
        return out if top is None else top.process(known(primitive, out), top.level, tuple(values), params)


class Kept(Array):
    """A value in a function under a policy: operations ask `results` what they are to compute."""

    __slots__ = ()

    def __init__(self, value: Any, level: int, results: Results):
        self.value, self.level, self.extra = value, level, results

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        mine = [isinstance(a, Kept) and a.level == level for a in args]
        results = next(a.extra for a, m in zip(args, mine, strict=True) if m)
        out = results.of(primitive, [a.value if m else a for a, m in zip(args, mine, strict=True)], params)
        if gives_constants(primitive):
            return out
        return Kept(out, level, results) if primitive.outputs == 1 else tuple([Kept(o, level, results) for o in out])


def known(primitive: Primitive, out: Any) -> Primitive:
    """The operation, for once, with a result that is known."""
    new = object.__new__(Primitive)
    for name in Primitive.__slots__:
        if hasattr(primitive, name):
            setattr(new, name, getattr(primitive, name))
    new.op = new.impl = lambda *args, **params: out
    return new


def checkpoint_loop(step: Callable, state: Any, n: int, *args: Any, snapshots: int | None = None) -> Any:
    """The state after `n` steps, each of them `state = step(state, k, *args)`, with a gradient that needs memory for
    few of the states.

    The way back keeps at most `snapshots` states at a time, by default about log2(n), and computes others again from
    the nearest of them. They are placed by the binomial schedule, which runs each step the fewest times: with log2(n)
    of them, at most log2(n) times. States and further arguments are trees of arrays. Gradients are the same, to the
    last bit, as those of a loop that keeps everything.

    >>> x = Tensor(np.float64(0.5)).requires_grad_()
    >>> checkpoint_loop(lambda x, k: np.sin(x), x, 100).backward()
    """
    if n < 0 or (snapshots is not None and snapshots < 1):
        raise user_error(ValueError, f"checkpoint_loop needs n >= 0 and snapshots >= 1, not {n} and {snapshots}")
    call = Loop("checkpoint_loop", (state, args), step, n, snapshots or max(1, n.bit_length()))
    if not call.is_tracked or not n:
        return call.advance(state, args, 0, n)
    return call(LOOP)


class Loop(Call):
    """A loop whose states are computed again on the way back."""

    def __init__(self, name: str, args: tuple, step: Callable, n: int, snapshots: int):
        super().__init__(name, args)
        self.step, self.n, self.snapshots = step, n, snapshots

    def function(self, state: Any, args: tuple) -> Any:
        return self.advance(state, args, 0, self.n)

    def advance(self, state: Any, args: tuple, start: int, stop: int) -> Any:
        for k in range(start, stop):
            state = self.step(state, k, *args)
        return state

    def other_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple:
        return self.straight(x)

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        state, args = self.assemble(tensors(x, t))
        arguments, structure = tree.flatten(args)
        back = Back(self, t, arguments, structure)
        back.through(state, 0, self.n, self.snapshots)
        return self.among_arrays([*back.t, *back.totals])


class Back:
    """The way back through a loop: `t` are the cotangents of the state that it has come to, `totals` those of the
    arguments so far.
    """

    def __init__(self, loop: Loop, t: Sequence[Any], arguments: list, structure: tree.Structure):
        self.loop, self.t, self.arguments, self.structure = loop, t, arguments, structure
        self.totals: list = [None] * len(arguments)

    def through(self, state: Any, start: int, stop: int, spare: int) -> None:
        """Back from step `stop` to step `start`, whose state is given, with so many further states at a time."""
        while stop - start > 1:
            middle = start + split(stop - start, spare)
            args = tree.unflatten(self.structure, map(handle, self.arguments))
            self.through(self.loop.advance(tree.map(handle, state), args, start, middle), middle, stop, spare - 1)
            stop = middle
        self.one(state, start)

    def one(self, state: Any, k: int) -> None:
        """Back through one step, on a tape of its own.

        Cotangents of the arguments are added in the order of a tape of all steps.
        """
        leaves, structure = tree.flatten(state)
        values = [*leaves, *self.arguments]
        with Transposed([bare(v) if isinstance(v, SHAPED) and is_smooth(v) else None for v in values]) as tape:
            inputs = [handle(v) if i is None else i for v, i in zip(values, tape.inputs, strict=True)]
            args = tree.unflatten(self.structure, inputs[len(leaves) :])
            outs = tree.flatten(self.loop.step(tree.unflatten(structure, inputs[: len(leaves)]), k, *args))[0]
            nodes = tape.nodes[len(leaves) :]
            arrived = {
                node: total
                for node, total in zip(nodes, self.totals, strict=True)
                if node is not None and total is not None
            }
            found = tape.transpose(outs, self.t, arrived)
        self.t, self.totals = found[: len(leaves)], found[len(leaves) :]


def handle(value: Any) -> Any:
    """The same value as an object of its own, which a step may change in place."""
    return value.copy() if isinstance(value, np.ndarray) else snapshot(value)


def split(length: int, spare: int) -> int:
    """After how many of these steps to keep the next state, with so many states to spare (Griewank's binomial
    schedule).

    With c states, comb(c + r, c) steps can be gone back through by running each of them at most r times.

    >>> split(10, 1), split(10, 3)
    (9, 4)
    """
    spare = max(spare, 1)
    runs = next(r for r in count(1) if comb(spare + r, spare) >= length)
    return min(comb(spare + runs - 1, spare), length - 1)
