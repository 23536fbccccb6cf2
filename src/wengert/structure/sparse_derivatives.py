"""Sparse Jacobians and Hessians: few products give all entries, because most are known to be zero."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.spec import Spec
from wengert.modes.tensor import Tensor
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape
from wengert.structure.coloring import Coloring, color
from wengert.structure.incidence import csr_array
from wengert.structure.kept_colorings import load_or_color
from wengert.structure.pattern_arguments import CallSignature
from wengert.structure.patterns import Pattern, find_pattern
from wengert.transforms.boundary import Argnums, detach_parameters, flatten_arrays
from wengert.transforms.gradients import Tape, grad
from wengert.transforms.jacobians import ranges, run_each
from wengert.transforms.products import push_forward

if TYPE_CHECKING:
    from wengert.compiler.machine.translation import Effort

SYMMETRIC_WAYS = ("symmetric", "star", "acyclic")


class PatternError(ValueError):
    """A pattern misses an entry that is not zero."""


class SparsePlan:
    """How the entries for arguments of one signature are computed: a pattern, its colouring, and the products."""

    def __init__(
        self,
        function: Callable,
        signature: CallSignature,
        pattern: Pattern,
        coloring: Coloring,
        chunk_size: int | None,
        native: bool,
        effort: Effort | None,
    ):
        self.function, self.signature, self.chunk_size = function, signature.without_numbers(), chunk_size
        self.pattern, self.coloring = pattern, coloring
        self.recovery = coloring.recovery(pattern)
        self.columns = color_seeds(coloring.columns, coloring.column_colors, self.signature.leaves)
        self.run: Callable = self.entries
        if native:
            from wengert.compiler.call.compiled import compile as compiled  # LLVM is loaded when something is compiled

            self.run = compiled(self.entries, effort=effort)

    def entries(self, *arrays: Any) -> Any:
        """The entries of the matrix, in the order of the pattern: operations of the table, which can be traced."""
        leaves, others = arrays[: self.signature.count], arrays[self.signature.count :]
        call = lambda given: self.signature.call(self.function, [*given, *others])
        parts = []
        if self.coloring.column_colors:
            parts.append(self.forward(call, leaves, arrays))
        if self.coloring.row_colors:
            parts.append(self.backward(call, leaves))
        if not parts:
            return np.zeros(0, np.result_type(float, *[x.dtype for x in leaves]))
        return self.recovery.entries(concatenate(parts) if len(parts) > 1 else parts[0])

    def forward(self, call: Callable, leaves: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The products with sums of unit vectors from the right, one after the other."""

        def run(tangents: Sequence[Any]) -> list:
            results = flatten_arrays(push_forward(call, leaves, tangents, arrays)[1])[0]
            self.refuse_rows(sum(y.size for y in results))
            return [join_flat(results)]

        return reshape(run_each(run, self.columns, self.chunk_size)[0], (-1,))

    def backward(self, call: Callable, leaves: Sequence[Any]) -> Any:
        """The products with sums of unit vectors from the left."""
        tape = Tape(call, leaves)
        results = flatten_arrays(tape.result)[0]
        self.refuse_rows(sum(y.size for y in results))
        specs = [Spec(y.shape, y.dtype if y.dtype.kind in "fc" else np.dtype(float)) for y in results]

        def run(cotangents: Sequence[Any]) -> list:
            found = tape.pull(results, cotangents, retain=True)
            return [
                join_flat([np.zeros(x.shape, x.dtype) if t is None else t for t, x in zip(found, leaves, strict=True)])
            ]

        return reshape(
            run_each(run, color_seeds(self.coloring.rows, self.coloring.row_colors, specs), self.chunk_size)[0], (-1,)
        )

    def product(self, arrays: Sequence[Any], tangents: Sequence[Any]) -> np.ndarray:
        """The matrix times a vector, by one forward pass that knows nothing of the pattern."""
        call = lambda given: self.signature.call(self.function, [*given, *arrays[self.signature.count :]])
        return np.asarray(
            join_flat(
                flatten_arrays(push_forward(call, arrays[: self.signature.count], tangents, (arrays, tangents))[1])[0]
            )
        )

    def refuse_rows(self, rows: int) -> None:
        """Raise an error if the function has not as many results as the pattern has rows."""
        if rows != self.pattern.shape[0]:
            raise user_error(
                ValueError,
                f"The function has {rows} results, and its pattern {self.pattern.shape[0]} rows",
                "Find the pattern with sparsity(f, x).",
            )


def color_seeds(colors: np.ndarray, number: int, specs: Sequence[Spec]) -> list[np.ndarray]:
    """For each colour the sum of its unit vectors, split into arrays with the colours along their first axis."""
    if number == 1 and (colors == 0).all():
        # broadcast, so that the compiler sees one number
        return [np.broadcast_to(spec.dtype.type(1), (1, *spec.shape)) for spec in specs]
    colored = np.nonzero(colors >= 0)[0]
    parts = []
    for (start, stop), spec in zip(ranges(specs), specs, strict=True):
        block = np.zeros((number, stop - start), spec.dtype if spec.dtype.kind in "fc" else float)
        mine = colored[(colored >= start) & (colored < stop)]
        block[colors[mine], mine - start] = 1
        parts.append(block.reshape(number, *spec.shape))
    return parts


def join_flat(arrays: Sequence[Any]) -> Any:
    """All elements in one vector."""
    rows = [reshape(x, (-1,)) for x in arrays]
    return rows[0] if len(rows) == 1 else concatenate(rows)


class SparseDerivative:
    """The function that computes the sparse Jacobian, or Hessian, of `f`.

    Patterns and colourings are found once for each signature.
    """

    def __init__(
        self,
        f: Callable,
        argnums: Argnums,
        pattern: Any,
        coloring: Coloring | str | None,
        *,
        hessian: bool,
        check: bool,
        compile: bool,
        chunk_size: int | None,
    ):
        self.name = "sparse_hessian" if hessian else "sparse_jacobian"
        if not callable(f):
            raise user_error(TypeError, f"{self.name} takes a function, and was given a {type(f).__name__}")
        self.f, self.argnums, self.hessian = f, argnums, hessian
        self.check, self.native, self.chunk_size = check, compile, chunk_size
        self.effort: Effort | None = None
        self.function = grad(f, argnums) if hessian else f
        self.given = None if pattern is None else Pattern(pattern, symmetric=hessian)
        self.wanted = coloring if coloring is not None else "auto"
        if self.way in SYMMETRIC_WAYS and not (hessian or (isinstance(pattern, Pattern) and pattern.symmetric)):
            raise user_error(
                ValueError,
                f"sparse_jacobian: coloring={self.way!r} takes each entry for its mirror image, and a Jacobian need "
                f"not be symmetric",
                "Leave the colouring out, or, if it is, pass pattern=Pattern(matrix, symmetric=True).",
            )
        self.plans: dict[Any, SparsePlan] = {}
        self.fast: dict[Any, SparsePlan] = {}
        update_wrapper(self, f, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> csr_array:
        plan, arrays = self.find_plan(detach_parameters(args), detach_parameters(kwargs))
        for x in arrays:
            if isinstance(x, Array):
                raise user_error(
                    TrackedValueError,
                    f"{self.name} gives a SciPy matrix, of plain numbers, and was given a {type(x).__name__}",
                    f"Inside other transforms, take its entries: {self.name}(f).values(x), in the order of "
                    f".pattern(x).",
                )
        values = plan.run(*arrays)
        matrix = plan.pattern.filled(values)
        if self.check:
            self.probe(plan, arrays, matrix)
        return matrix

    @property
    def way(self) -> str:
        """The kind of colouring that was asked for."""
        return self.wanted.kind if isinstance(self.wanted, Coloring) else self.wanted

    def values(self, *args: Any, **kwargs: Any) -> Any:
        """The entries alone, in the order of the pattern.

        They are values of any mode, so that they can be differentiated and compiled.
        """
        plan, arrays = self.find_plan(args, kwargs)
        return plan.run(*arrays)

    def pattern(self, *args: Any, **kwargs: Any) -> Pattern:
        """The entries that may be nonzero, for arguments like these."""
        return self.find_plan(args, kwargs)[0].pattern

    def colors(self, *args: Any, **kwargs: Any) -> Coloring:
        """How the matrix is compressed, for arguments like these."""
        return self.find_plan(args, kwargs)[0].coloring

    def find_plan(self, args: tuple, kwargs: dict[str, Any]) -> tuple[SparsePlan, list]:
        """The plan for these arguments, and those of their arrays that vary."""
        if len(args) == 1 and not kwargs and args[0].__class__ is np.ndarray:
            quick = (args[0].shape, args[0].dtype)
        else:
            quick = None
        if quick is not None and quick in self.fast:
            return self.fast[quick], list(args)
        signature = CallSignature(self.name, self.argnums, args, kwargs)
        plan = self.plans.get(signature.key)
        if plan is None:
            plan = self.plans.setdefault(signature.key, self._make_plan(signature))
        if quick is not None:
            self.fast[quick] = plan
        return plan, [
            x.value if isinstance(x, Tensor) and x.node is None and not x.level else x for x in signature.arrays
        ]

    def _make_plan(self, signature: CallSignature) -> SparsePlan:
        pattern = self.given if self.given is not None else find_pattern(self.function, signature, self.hessian)
        size = sum(x.size for x in signature.leaves)
        if pattern.shape[1] != size:
            raise user_error(
                ValueError,
                f"{self.name}: the pattern has {pattern.shape[1]} columns, and there are {size} elements to "
                f"differentiate in",
                "Find the pattern with sparsity(f, x).",
            )
        find = load_or_color if self.native else color
        coloring = self.wanted if isinstance(self.wanted, Coloring) else find(pattern, self.wanted)
        return SparsePlan(self.function, signature, pattern, coloring, self.chunk_size, self.native, self.effort)

    def probe(self, plan: SparsePlan, arrays: Sequence[Any], matrix: csr_array) -> None:
        """Compare the product with a random vector to one that does not know the pattern."""
        rng = np.random.default_rng()
        leaves = arrays[: plan.signature.count]
        tangents = [rng.uniform(0.5, 1.5, x.shape).astype(x.dtype) for x in leaves]
        v = np.concatenate([np.reshape(t, -1) for t in tangents])
        expected, found = plan.product(arrays, tangents), matrix @ v
        coarsest = max(np.finfo(x.dtype).eps for x in (matrix, *leaves))
        with np.errstate(all="ignore"):
            tolerance = np.sqrt(coarsest) * (abs(matrix) @ v + np.abs(expected))
            close = (
                (np.abs(expected - found) <= tolerance) | (expected == found) | (np.isnan(expected) & np.isnan(found))
            )
        wrong = np.nonzero(~close)[0]
        if wrong.size:
            raise user_error(
                PatternError,
                f"{self.name}: the pattern misses an entry that is not zero: {wrong.size} of {expected.size} rows, the "
                f"first being row {wrong[0]}, do not multiply a random vector as the function's derivative does",
                "Leave the pattern out, or find one that holds everywhere with sparsity(f, x, scope='global').",
            )

    def as_compiled(self, effort: Effort | None = None) -> SparseDerivative:
        """The same with native code for its entries: what `wg.compile` makes of it."""
        if self.native and effort in (None, self.effort):
            return self
        native = copy.copy(self)
        native.native, native.effort, native.plans, native.fast = True, effort, {}, {}
        return native


def sparse_jacobian(
    f: Callable,
    argnums: Argnums = 0,
    pattern: Any = None,
    coloring: Coloring | str | None = None,
    *,
    check: bool = False,
    compile: bool = False,
    chunk_size: int | None = None,
) -> SparseDerivative:
    """The function that computes the Jacobian of `f` as a SciPy sparse matrix.

    Rows are the flattened results, columns the flattened arguments; several arrays follow one another. The pattern is
    found, and coloured, once for each shape, and holds for all numbers; or it is given, as a `Pattern` or a matrix,
    with `coloring` as a `Coloring` or the name of a way for `color`. `check` compares each result to a product that
    does not know the pattern. `compile` makes native code of it. `chunk_size` bounds how many products run at once, and
    with them the memory.

    >>> J = sparse_jacobian(lambda x: (x[1:] - x[:-1]) ** 2)
    >>> J(np.arange(4.0)).toarray()
    array([[-2.,  2.,  0.,  0.],
           [ 0., -2.,  2.,  0.],
           [ 0.,  0., -2.,  2.]])
    >>> J.colors(np.arange(4.0))
    <column colouring, 2 colours>
    """
    return SparseDerivative(
        f, argnums, pattern, coloring, hessian=False, check=check, compile=compile, chunk_size=chunk_size
    )


def sparse_hessian(
    f: Callable,
    argnums: Argnums = 0,
    pattern: Any = None,
    coloring: Coloring | str | None = None,
    *,
    check: bool = False,
    compile: bool = False,
    chunk_size: int | None = None,
) -> SparseDerivative:
    """The function that computes the Hessian of a scalar function as a SciPy sparse matrix.

    It has the options of `sparse_jacobian`, and is symmetric.

    >>> sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum())(np.arange(3.0)).toarray()
    array([[2., 0., 0.],
           [0., 4., 2.],
           [0., 2., 0.]])
    """
    return SparseDerivative(
        f, argnums, pattern, coloring, hessian=True, check=check, compile=compile, chunk_size=chunk_size
    )
