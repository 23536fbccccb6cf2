"""The machine record: every number by which code decides is a field of it, and nothing decides by another one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine
from wengert.core.machine import Machine
from wengert.core.machine.record import ORDER_FIELDS

PACKAGE = Path(wg.__file__).parent
PRESENTATION = (
    "export/build_files",
    "export/c_source/comments",
    "export/c_source/document",
    "export/header",
    "explain/comparing/chart",
    "explain/folding",
    "explain/page",
    "explain/pictures",
    "explain/play",
    "explain/progress",
    "explain/reading",
    "explain/schedule",
    "explain/tables",
    "explain/why",
    "nn/progress",
    "optimize/progress",
)
"""Folders and modules whose numbers say how much is shown or read, and where it is drawn: no result depends on them."""
COEFFICIENTS = ("compiler/functions", "compiler/simd")
"""Folders whose numbers are coefficients of approximations, and the bounds of their domains."""
FACTS = {
    "array_libraries/aspects/bessel:HIGHEST": "the highest order for which the recurrence has ten digits",
    "array_libraries/aspects/bessel:TERMS": "the terms of a series that has all digits",
    "autograd/gradcheck:REPORTED": "the lines of an error",
    "cli:FAILED": "an exit status",
    "cli:FINE": "an exit status",
    "cli:USAGE": "an exit status",
    "compat/autograd/test_util:EPS": "a step that autograd has",
    "compat/autograd/test_util:RTOL": "a tolerance that autograd has",
    "compat/autograd/test_util:TOL": "a tolerance that autograd has",
    "compat/jax/lax/contractions:DEFAULT": "a member of an enumeration of JAX",
    "compat/jax/lax/contractions:HIGH": "a member of an enumeration of JAX",
    "compat/jax/lax/contractions:HIGHEST": "a member of an enumeration of JAX",
    "compat/jax/nn/initializers:TRUNCATED_STD": "a standard deviation",
    "compiler/call/captures:DEPTH": "containers, one inside of another, in which changes are seen: what captures mean",
    "compiler/entry/entry:_FASTCALL_KEYWORDS": "a flag of Python",
    "compiler/machine/python_calls:ADDRESS": "a mark in a table",
    "compiler/machine/python_calls:NOTHING": "a mark in a table",
    "compiler/machine/python_objects:BYTE_ORDER": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:CHANGED": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:DATA": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:DESCR": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:EXTRA": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:FLAGS": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:GRADIENT": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:INSTANCE_SIZE": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:LEVEL": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:NDIM": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:NUMBER": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:OWNED": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:PAYLOAD": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:SCALAR_TYPE": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:SHAPE": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:TYPE": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:USABLE": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:USER_LEVEL": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:_ALLOCATE": "an offset or a constant of Python and NumPy",
    "compiler/machine/python_objects:_BINARY_INTERFACE": "an offset or a constant of Python and NumPy",
    "compiler/entry/state_calls:ABSENT": "a bit of what a call does",
    "compiler/entry/state_calls:COPIES": "a bit of what a call does",
    "compiler/entry/state_calls:COUNTS": "a bit of what a call does",
    "compiler/entry/state_calls:OF_GRADIENT": "a bit of what a call does",
    "compiler/entry/state_calls:OVERWRITES": "a bit of what a call does",
    "compiler/entry/state_calls:READS": "a bit of what a call does",
    "compiler/entry/state_calls:REPLACES": "a bit of what a call does",
    "compiler/entry/tree_calls:EQUAL": "a constant of Python",
    "compiler/threads/placement:AWAKE": "a mark in that table",
    "compiler/threads/placement:CORES": "the bits of the system's mask of cores",
    "compiler/call/block_program:HEAD": "the layout of a table in memory",
    "compiler/call/block_program:FIELDS": "the layout of a table in memory",
    "compiler/call/operand_rows:NO_STRIDES": "the strides of one row",
    "compiler/threads/placement:MOST_THREADS": "the length of a table in the code of the pool",
    "compiler/threads/placement:MOVED": "a mark in that table",
    "compiler/threads/pool:PAUSES": "the instructions between two looks for work",
    "compiler/machine/target:STACK_ALIGNMENT": "the alignment of the stack",
    "compiler/machine/translation:PLAIN": "a level of optimisation",
    "compiler/machine/translation:QUICK": "a level of optimisation",
    "compiler/machine/translation:USUAL": "a level of optimisation",
    "compiler/machine/translation:WHOLE": "a level of optimisation",
    "compiler/forms/failures:DIAGONAL": "a bit of the status of a program",
    "compiler/program/instruction_counts:NARROWEST": "the bytes of the narrowest number",
    "compiler/program/kept_memory:HUGE_PAGE": "the bytes of a page of the system",
    "compiler/program/kept_memory:MADV_HUGEPAGE": "a constant of the system",
    "compiler/program/kernel_lists:HEADER": "the layout of a list in memory",
    "compiler/machine/tables:ALIGNMENT": "the bytes of the widest vector",
    "compiler/program/program:FIRST_FAILURE": "a status of a program",
    "compiler/program/program:NO_MEMORY": "a status of a program",
    "compiler/program/program:RAISED": "a status of a program",
    "compiler/routines/attention/backward:PRODUCTS": "the products of matrices of a derivative",
    "compiler/routines/convolution/correlation:AXES": "the axes of all problems",
    "compiler/routines/fourier/plan:RADICES": "the lengths of transforms that are written in registers",
    "compiler/routines/fourier/tables:TURN": "two pi",
    "compiler/routines/lapack:ALIGNMENT": "the bytes of the widest vector",
    "compiler/routines/sorting:LONG": "the end of integers of 32 bits",
    "compiler/small_matrices/elimination:GROWTH": "a power of two that makes normal numbers of smaller ones",
    "compiler/small_matrices/elimination:SMALLEST": "the smallest normal number",
    "compiler/small_matrices/reflections:EXPONENT": "the bits of an exponent",
    "compiler/small_matrices/reflections:POWERS": "the bits of the smallest and the largest power of two",
    "compiler/small_matrices/tridiagonal:EPSILON": "the rounding error of doubles",
    "compiler/small_matrices/tridiagonal:NEGLIGIBLE": "a square beyond the digits of doubles",
    "compiler/small_matrices/tridiagonal:SMALLEST_SQUARE": "the smallest square that is divided by",
    "compiler/small_matrices/tridiagonal:SWEEPS": "the sweeps after which LAPACK gives up, too",
    "compiler/targets/cuda:ALIGNED": "the alignment of memory that CuPy gives",
    "compiler/targets/cuda:NEWEST": "a compute capability",
    "compiler/targets/cuda_driver:LOCAL_BYTES": "an attribute of the driver",
    "compiler/targets/cuda_driver:OLD_DRIVER": "a status of the driver",
    "compiler/targets/cuda_driver:PTX_INPUT": "a constant of the driver",
    "compiler/targets/cuda_driver:REGISTERS": "an attribute of the driver",
    "compiler/targets/cuda_driver:SHARED_BYTES": "an attribute of the driver",
    "compiler/targets/grid_plan:NARROW": "the end of integers of 32 bits",
    "compiler/targets/grid_plan:AT_ONCE": "the words of the widest read",
    "compiler/targets/grid_plan:BITS": "the bits of a digit, which each thread of a block has a value of",
    "compiler/targets/thread_block:PARAMETER_BYTES": "the bytes that a kernel takes by value at the most",
    "compiler/nests/thread_order:THREADS": "the threads of a block, one for each value of a byte",
    "compiler/nests/thread_order:VECTOR_BYTES": "the bytes of the widest read",
    "compiler/nests/thread_order:WARP": "the threads of a warp",
    "compiler/nests/grid_legality:WORD": "the bytes of a number of a row",
    "compiler/nests/thread_order:CACHE_LINE": "the bytes of a line of the cache",
    "core/allocator:MMAP_THRESHOLD": "a constant of the C library",
    "core/allocator:TOP_PAD": "a constant of the C library",
    "core/allocator:TRIM_THRESHOLD": "a constant of the C library",
    "core/foreign:HOSTS": "constants of DLPack",
    "core/spec:UNKNOWN": "a mark of a length",
    "explain/comparing/compare:SHOWN": "the elements of a gradient in a table",
    "explain/comparing/compare:SMALLEST": "the end of an axis",
    "explain/comparing/compare:UNSURE": "the rounding error of the reference",
    "explain/comparing/reference:DIGITS": "the digits of the reference",
    "explain/comparing/reference:NOISE": "the rounding error of the reference",
    "explain/comparing/reference:STEP": "the exponent of a step, for these digits",
    "export/archive:HEADER": "the bytes of a header",
    "export/c_source/aspects/matrices:LARGEST": "the root of the largest integer of 32 bits",
    "export/c_source/terms:LARGEST_INT": "the largest integer of 32 bits",
    "export/c_source/work_arrays:ALIGNMENT": "the bytes of a double",
    "export/linear_algebra:SWEEPS": "the sweeps after which Jacobi's method has converged, or never does",
    "graph/graph:READABLE": "the length of a graph that a notebook shows",
    "graph/mathematics:LIMIT": "the length of an equation",
    "graph/passes/simplify:LARGEST": "the largest exponent of a rule of algebra",
    "graph/python_source:LIMIT": "the length of a line",
    "graph/python_source:SMALL": "the elements of an array in a text",
    "implicit/solvers:TOLERANCE": "a tolerance",
    "integrate/controller:LARGEST": "a bound of the formula for steps",
    "integrate/controller:SAFETY": "a factor of the formula for steps",
    "integrate/controller:SMALLEST": "a bound of the formula for steps",
    "integrate/events:HALVINGS": "the bits of a fraction",
    "integrate/events:LOGGED": "the length of a result that users get",
    "integrate/rosenbrock:GAMMA": "a coefficient of the method",
    "modes/recording:active": "a count that changes",
    "modes/symbolic:SYMBOLS": "a level",
    "modes/tape_value:RETAIN": "the key of a hook",
    "modes/outlines:new_tapes": "a count of tapes",
    "nn/functional/activations:SELU_ALPHA": "a coefficient",
    "nn/functional/activations:SELU_SCALE": "a coefficient",
    "nn/functional/classification:LEAST_LOG": "a bound that PyTorch has",
    "nn/functional/dropping:SELU_LIMIT": "a limit of a function",
    "nn/state:SHOWN": "the names in a message",
    "ops/elementwise/choices:POSITIVE": "an interval from which tests take points",
    "ops/elementwise/choices:UNIT": "an interval from which tests take points",
    "ops/linear_algebra/matrix_functions:_CONFLUENT": "a matrix of the tests",
    "ops/linear_algebra/matrix_functions:_POINTS": "the nodes of Gauss's rule",
    "ops/linear_algebra/matrix_functions:_WEIGHTS": "the weights of Gauss's rule",
    "ops/reductions/short_rows:LONGEST": "the length up to which NumPy adds in order",
    "ops/samples/counter_words:GAMMA": "a constant of the generator",
    "ops/samples/counter_words:LAST_SHIFT": "a constant of the generator",
    "ops/samples/counter_words:ROUNDS": "constants of the generator",
    "ops/samples/counter_words:WORD": "the bits of a word",
    "ops/samples/draws:DECAY": "the exponent beyond which nothing is left of a double",
    "ops/samples/draws:NODES": "the nodes of Gauss's rule for all digits",
    "ops/signal/fourier:MATRIX": "the axes of a matrix",
    "ops/special/error:DENOMINATOR": "coefficients",
    "ops/special/error:END_OF_SINGLES": "where a function rounds to 1",
    "ops/special/error:LEVELS": "the levels of a continued fraction that has all digits",
    "ops/special/error:NUMERATOR": "coefficients",
    "ops/special/error:TWO_OVER_ROOT_PI": "a coefficient",
    "ops/special/gamma:DEEPEST": "the end of the domain",
    "ops/special/gamma:SHIFT": "where a series has all digits",
    "ops/special/gamma:TERMS": "the terms of a series that has all digits",
    "ops/special/gamma:TINY": "where a function is its first term",
    "ops/special/incomplete:STEP": "the step of a rule with 14 digits",
    "ops/special/incomplete:STIRLING": "coefficients",
    "ops/special/incomplete:WEIGHTS": "the weights of that rule",
    "ops/special/quantile:PROBABILITY": "an interval from which tests take points",
    "ops/special/quantile:T_SERIES": "coefficients",
    "optim/line_search:CURVATURE": "a constant of Wolfe's conditions",
    "optim/line_search:DECREASE": "a constant of Wolfe's conditions",
    "source/memory:LARGE": "elements of arrays that traced statements protect: what they mean, not how they run",
    "source/memory:MOST": "objects that traced statements protect: what they mean, not how they run",
    "source/rolling:PASSES": "the traces after which a loop is refused",
    "stats/continuous_distributions:EULER": "a coefficient",
    "stats/continuous_distributions:LOG_ROOT_TWO_PI": "a coefficient",
    "transforms/numeric:ROWS": "the rows of an extrapolation",
}
"""Numbers that decide nothing, by `module:NAME`, and what they are instead."""

BOUNDS = {
    "compiler/__init__": {"sys.maxsize < 2 ** 32"},  # the system
    "compiler/call/captures": {"len(text) <= 60"},  # a message
    "compiler/machine/target": {"vector_bytes() == 64"},  # AVX-512
    "compiler/products/tile": {"vector_registers() > 16"},  # AVX-512
    "compiler/products/transposing": {"min(vector_bytes(), 32)"},  # the vectors that are exchanged in registers
    "compiler/schedule/schedule": {  # the end of a count that may grow exponentially
        "min(inner + operation_cost(node), 1 << 20)",
        "min(inner * node.size + lowering_of(node, MatrixFunction).flops(node), 1 << 20)",
    },
    "compiler/targets/grid_plan": {"min(now.bytes_of_device_sort_tile, 1 << 15)"},  # the end of a field
}
"""Comparisons with numbers in code that decide nothing, by module; and those of bits in `compiler/simd`, not listed."""


def documented_fields() -> dict[str, str]:
    """The docstring of each field of the record, below it in the source."""
    found = {}
    for base in Machine.__mro__[:-1]:
        (definition,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(definition, ast.ClassDef)
        for line, below in zip(definition.body, [*definition.body[1:], None], strict=True):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                value = below.value if isinstance(below, ast.Expr) else None
                found[line.target.id] = str(value.value) if isinstance(value, ast.Constant) else ""
    return found


def is_number(node: ast.AST | None) -> bool:
    """Whether an expression is a number, a tuple of numbers, or arithmetic of numbers and other constants."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(is_number, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.BinOp) and (is_number(node.left) or is_number(node.right))


def numbers_of(body: list[ast.stmt]) -> list[str]:
    """The names of the numbers that a module defines, and of the constants that its classes do."""
    found = []
    for line in body:
        if isinstance(line, ast.ClassDef):
            found += [name for name in numbers_of(line.body) if name.isupper()]
        elif isinstance(line, ast.Assign | ast.AnnAssign) and is_number(line.value):
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            found += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return found


def value_of(node: ast.AST) -> float | None:
    """The value of a number, or of arithmetic of numbers."""
    if isinstance(node, ast.Constant) or (isinstance(node, ast.BinOp) and not list(names_in(node))):
        value = eval(ast.unparse(node), {"__builtins__": {}})
        return value if isinstance(value, int | float) else None
    return None


def names_in(node: ast.AST) -> Iterator[ast.AST]:
    """The names and calls in an expression."""
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.Name | ast.Attribute | ast.Call))


def comparisons_of(tree: ast.Module) -> list[str]:
    """The comparisons with a number of at least 16, the least and the greatest included; not those of bits of types."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            compared = node.args
        else:
            continue
        values = [value for value in map(value_of, compared) if value is not None]
        is_of_bits = any(isinstance(side, ast.Attribute) and side.attr == "bits" for side in compared)
        if not is_of_bits and any(abs(value) >= 16 for value in values):
            found.append(ast.unparse(node))
    return found


def is_in(module: str, places: tuple[str, ...]) -> bool:
    """Whether a module is one of these, or in one of these folders."""
    return any(module == place or module.startswith(f"{place}/") for place in places)


def test_every_field_says_what_it_counts_and_why():
    documented = documented_fields()
    short = [f.name for f in fields(Machine) if len(documented[f.name].split()) < 6]
    assert not short
    vague = [name for name, text in documented.items() if "so many" in text.lower()]
    assert not vague


def test_a_field_is_declared_once():
    declared = [name for base in Machine.__mro__[:-1] for name in vars(base).get("__annotations__", ())]
    assert sorted(set(declared)) == sorted(declared) == sorted(f.name for f in fields(Machine))


def test_nothing_decides_by_a_number_outside_of_the_record():
    modules = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in PACKAGE.rglob("*.py")}
    numbers = {
        f"{module}:{name}"
        for module, path in sorted(modules.items())
        if not is_in(module, PRESENTATION + COEFFICIENTS)
        for name in numbers_of(ast.parse(path.read_text()).body)
    }
    found = sorted(numbers - FACTS.keys())
    assert not found, f"{len(found)} numbers: make them fields of core/machine, or say what fact they are"
    assert not FACTS.keys() - numbers, "facts that are no longer there"
    places = [place for place in PRESENTATION + COEFFICIENTS if not any(is_in(module, (place,)) for module in modules)]
    assert not places, "folders that are no longer there"


@pytest.mark.parametrize("folder", ["compiler", "core"])
def test_nothing_is_compared_with_a_number_that_is_not_in_the_record(folder):
    found = {}
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        module = path.relative_to(PACKAGE).with_suffix("").as_posix()
        if not is_in(module, COEFFICIENTS) and (comparisons := comparisons_of(ast.parse(path.read_text()))):
            found[module] = set(comparisons)
    assert found == {module: known for module, known in BOUNDS.items() if is_in(module, (folder,))}


def test_comparisons_with_numbers_are_found():
    source = "a >= 1 << 14\nmin(b, 64) < c\nx.bits == 64\nd > 3\nlen(e) <= 2 * 8\nf < 16 * g\nmax(h, 3)"
    assert comparisons_of(ast.parse(source)) == ["a >= 1 << 14", "len(e) <= 2 * 8", "min(b, 64)"]


def test_numbers_are_found_in_modules_and_classes():
    source = "A, B = 3, 1 << 4\nC: int = -1\nD = 'x'\nE = True\nclass F:\n    G = 2.0\n    order = 4\n"
    assert numbers_of(ast.parse(source).body) == ["A", "B", "C", "G"]


def test_a_record_is_in_force_for_a_block_and_programs_are_made_for_it():
    f = wg.compile(lambda x: np.sin(x).sum())
    x = np.linspace(0.0, 1.0, 41)
    before = f(x), f(x), f.report(x).llvm
    with machine.using(vector_bytes=8, threads=3) as record:
        assert (machine.current is record, record.threads) == (True, 3)
        with machine.using(threads=2):
            assert (machine.current.threads, machine.current.vector_bytes) == (2, 8)
        assert machine.current is record
        inside = f(x), f(x), f.report(x).llvm
    assert machine.describe_changes() == ""
    assert {*before[:2], *inside[:2], f(x)} == {before[0]}
    assert inside[2] != before[2]


def test_the_record_goes_back_after_an_error():
    with pytest.raises(ValueError, match="inside"), machine.using(threads=5):
        raise ValueError("inside")
    assert machine.current.threads != 5
    with pytest.raises(TypeError, match="no_such_field"), machine.using(no_such_field=1):
        pass
    with pytest.raises(FrozenInstanceError, match=r"using\(threads"):
        machine.current.threads = 5
    assert machine.describe_changes() == ""


def test_equal_records_are_one_object():
    with machine.using(threads=3) as first:
        pass
    with machine.using(threads=3) as second:
        assert first is second
        assert machine.describe_changes() == "threads=3"
    assert {"sum_pieces", "sum_bytes"} <= ORDER_FIELDS
