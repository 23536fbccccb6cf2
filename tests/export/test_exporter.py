"""`wg.export`: its files, what it takes, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest
from tests.export.machines import run_example

import wengert as wg
from wengert.export.exporter import FORMATS
from wengert.export.refusals import ExportError

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def loss(params, x):
    """The loss of a small model, with a comment */ in it."""
    return (np.tanh(x @ params["w"] + params["b"]) ** 2).mean()


PARAMS = {"w": np.linspace(-1, 1, 6).reshape(3, 2), "b": np.array([0.1, -0.2])}
X = np.linspace(0, 1, 12).reshape(4, 3)


@needs_gcc
def test_the_example_of_a_library_prints_the_results(tmp_path):
    made = wg.export(wg.value_and_grad(loss), PARAMS, X, path=tmp_path)
    value, gradients = wg.value_and_grad(loss)(PARAMS, X)
    found = run_example(made)
    np.testing.assert_allclose(found["result_0"], value, rtol=1e-15)
    for name, expected in gradients.items():
        np.testing.assert_allclose(found[f"result_1_{name}"], expected.ravel(), rtol=1e-13, atol=1e-16)


@needs_gcc
@pytest.mark.parametrize("format", ["library", "object"])
def test_build_systems_find_the_library(format, tmp_path):
    jacobian = wg.sparse_jacobian(lambda x: x[1:] ** 2)
    made = wg.export(jacobian, np.arange(3.0), path=tmp_path, name="band", format=format)
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = "".join([f"result[{i}] = {value}\n" for i, value in enumerate((2, 4))])
    tools = [tool for tool in ("pkg-config", "cmake") if shutil.which(tool)]
    if "pkg-config" in tools:
        environment = {"PATH": os.environ["PATH"], "PKG_CONFIG_PATH": str(tmp_path)}
        flags = run(["pkg-config", "--cflags", "--libs", "band"], env=environment).stdout.split()
        run(["gcc", "band_example.c", *flags, "-o", "by_pkg_config"])
        assert run(["./by_pkg_config"]).stdout == expected
    if "cmake" in tools:
        (tmp_path / "CMakeLists.txt").write_text(CMAKE)
        run(["cmake", "-S", ".", "-B", "build"])
        run(["cmake", "--build", "build"])
        assert run(["build/program"]).stdout == expected
    if not tools:
        pytest.skip(f"neither pkg-config nor cmake is installed, which {made.name} was written for")


CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(program C)
include(band.cmake)
add_executable(program band_example.c)
target_link_libraries(program band)
"""


def test_the_header_says_all_that_a_caller_needs(tmp_path):
    made = wg.export(wg.grad(loss), PARAMS, X, path=tmp_path, name="slope")
    header = (tmp_path / "slope.h").read_text()
    for text in (
        "int32_t slope(const double *params_w, const double *params_b, const double *x, double *result_w, double",
        "#define SLOPE_PARAMS_W_SIZE 6",
        "#define SLOPE_RESULT_B_SIZE 2",
        f"#define SLOPE_ARENA {made.arena}",
        "argument params['w'], 3 x 2, float64",
        "result['b'], 2, float64",
        "stored by rows",
        'extern "C"',
    ):
        assert text in header
    assert header.count("*/") == header.count("/*")
    assert (tmp_path / "slope.pc").read_text().startswith("Name: slope\n")
    assert "add_library(slope STATIC IMPORTED)" in (tmp_path / "slope.cmake").read_text()
    assert json.loads((tmp_path / "slope.json").read_text())["outputs"][0] == {
        "name": "result_w",
        "path": "result['w']",
        "shape": [3, 2],
        "dtype": "float64",
    }
    assert repr(made) == f"<{tmp_path / 'libslope.a'} for native: {made.size} bytes, and an arena of {made.arena}>"


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format, tmp_path):
    made = wg.export(loss, PARAMS, X, path=tmp_path / "new", format=format)
    content = made.file.read_bytes()
    signs = {"c": b"int32_t loss(", "llvm": b"define ", "assembly": b"loss:", "library": b"!<arch>\n"}
    suffixes = {"c": ".c", "llvm": ".ll", "assembly": ".s", "library": ".a", "object": ".o"}
    assert signs.get(format, b"loss") in content
    assert made.file.suffix == suffixes[format]
    assert made.size == len(content)
    assert all(file.exists() for file in made.files)


@needs_gcc
@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_code_needs_nothing_but_to_copy_and_clear_memory(tmp_path):
    functions = {
        "network": (wg.grad(loss), PARAMS, X),
        "equations": (np.linalg.solve, np.eye(20), np.ones(20)),
        "functions": (lambda x: (wg.special.erf(x), wg.special.gammaln(x), np.sin(x) ** x), X),
        "sums": (lambda x: np.cumsum(np.exp(x)), np.ones(5000)),
    }
    for name, (f, *args) in functions.items():
        for target in ("native", "x86-64-linux"):
            made = wg.export(f, *args, path=tmp_path, name=name, target=target, format="object")
            listed = subprocess.run(["nm", made.file], capture_output=True, text=True, check=True).stdout
            needed = set(re.findall(r" U (\w+)", listed))
            assert needed <= {"memcpy", "memset", "memmove"}
            assert re.findall(r" [A-TV-Z] (\w+)", listed) == [name], "no other name can collide"
            assert not re.findall(r" [bBdD] ", listed), "it has no state"


@needs_gcc
def test_two_exports_and_threads_in_one_program(tmp_path):
    """Names inside do not collide, and threads with an arena each do not disturb one another."""
    big = np.linspace(0, 1, 3000)
    first = wg.export(wg.grad(lambda x: np.exp(np.cumsum(x)).sum() * np.sin(x).sum()), big, path=tmp_path, name="first")
    second = wg.export(wg.grad(lambda x: (np.cumsum(x) ** 2).sum()), big, path=tmp_path, name="second")
    assert first.arena > 0
    (tmp_path / "main.c").write_text(THREADS)
    command = ["gcc", "-Wall", "-Werror", "main.c", first.file.name, second.file.name, "-pthread", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0 differences\n"


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "first.h"
#include "second.h"

static double x[FIRST_X_SIZE], expected[2][FIRST_X_SIZE];

static void *work(void *unused)
{
    long wrong = 0;
    char *arena = malloc(FIRST_ARENA + SECOND_ARENA + 1);
    double *out = malloc(sizeof x);
    for (int i = 0; i < 200; i++) {
        first(x, out, arena + 1);
        wrong += memcmp(out, expected[0], sizeof x) != 0;
        second(x, out, arena + 1);
        wrong += memcmp(out, expected[1], sizeof x) != 0;
    }
    (void)unused;
    return (void *)wrong;
}

int main(void)
{
    pthread_t threads[4];
    long total = 0;
    char *arena = malloc(FIRST_ARENA + SECOND_ARENA + 1);
    for (int i = 0; i < FIRST_X_SIZE; i++) x[i] = 1.0 / (i + 1);
    if (first(x, expected[0], arena) || second(x, expected[1], arena)) return 1;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        total += (long)wrong;
    }
    printf("%ld differences\\n", total);
    return 0;
}
"""


def test_the_same_function_gives_the_same_file(tmp_path):
    f = wg.value_and_grad(loss)
    files = [wg.export(f, PARAMS, X, path=tmp_path / str(i), target="x86-64-v3-linux").file for i in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()


# Sparse derivatives


def test_the_pattern_of_a_sparse_jacobian_is_in_the_header(tmp_path):
    jacobian = wg.sparse_jacobian(lambda x: (x[1:] - x[:-1]) ** 2)
    wg.export(jacobian, np.arange(5.0), path=tmp_path, name="band")
    header = (tmp_path / "band.h").read_text()
    for text in ("#define BAND_ROWS 4", "#define BAND_ENTRIES 8", "#define BAND_COLORS 2", "const double *x,"):
        assert text in header
    tables = re.findall(r"int32_t band_(\w+)\[\d+\] = \{\s*([^}]*?)\s*\}", header)
    numbers = {name: [int(word) for word in text.split(",")] for name, text in tables}
    assert numbers == {"row_starts": [0, 2, 4, 6, 8], "columns": [0, 1, 1, 2, 2, 3, 3, 4], "colors": [0, 1, 0, 1, 0]}


# What is captured, and what is fixed


def test_captured_tensors_are_constants(tmp_path):
    weight = wg.tensor([1.0, 2.0], requires_grad=True)
    made = wg.export(lambda x: x * weight, np.ones(2), path=tmp_path, name="scaled")
    with wg.no_grad():
        weight *= 10.0
    np.testing.assert_array_equal(wg.load_exported(made.file)(np.array([3.0, 4.0])), [3.0, 8.0])


def test_orders_need_no_library(tmp_path):
    x = np.round(np.random.default_rng(0).standard_normal(5000), 2)

    def f(x):
        return wg.sort(x), wg.median(x), wg.quantile(x, 0.3), wg.topk(x, 4), wg.partition(x, 40)[40]

    found = wg.load_exported(wg.export(f, x, path=tmp_path).file)(x)
    for out, expected in zip(wg.tree.leaves(found), wg.tree.leaves(f(x)), strict=True):
        np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_specs_stand_for_arguments(tmp_path):
    made = wg.export(lambda x: x.sum(0), wg.Spec((2, 3), np.dtype("f4")), path=tmp_path, name="total")
    np.testing.assert_array_equal(wg.load_exported(made.file)(np.ones((2, 3), np.float32)), [2, 2, 2])


# Loops of unknown length


def growing(x):
    return wg.grad(lambda x: wg.while_loop(lambda s: s < 100.0, lambda s: s * x * s, x + 1.0))(x)


def test_loops_of_unknown_length_allocate_only_if_they_are_allowed_to(tmp_path):
    """In reverse mode, such a loop keeps as many values as it has steps."""
    with pytest.raises(ExportError, match=r"loop\(.*keeps as many values as it has steps; allow .*allocate=True"):
        wg.export(growing, 2.0, path=tmp_path)
    made = wg.export(growing, 2.0, path=tmp_path, allocate=True)
    assert wg.load_exported(made.file)(2.0) == growing(2.0)
    assert "It may allocate memory" in (tmp_path / "growing.h").read_text()


# Errors


def unsupported(x):
    roots = np.linalg.svd(x)[1]
    return roots.sum() + np.convolve(x[0], x[1]).sum()


def test_operations_without_native_code_are_listed_with_their_lines(tmp_path):
    line = unsupported.__code__.co_firstlineno
    with pytest.raises(ExportError) as error:
        wg.export(unsupported, np.ones((12, 12)), path=tmp_path)
    text = str(error.value)
    assert text.startswith("Of this function, 2 operations cannot run without Python:")
    assert re.search(rf"svd\(f64\[12,12\]\) at \S*test_exporter.py:{line + 1}, which calls dgesdd of LAPACK", text)
    assert re.search(rf"convolve\(.*\) at \S*test_exporter.py:{line + 2}, which has no native code", text)
    assert not list(tmp_path.iterdir()), "nothing was written"


def untraceable(x):
    return float(x) * 2.0


def assigns(x, kept=wg.tensor(np.zeros(2))):  # noqa: B008  # a tensor that the function changes
    kept += x
    return kept


@pytest.mark.parametrize(
    ("f", "args", "options", "error", "message"),
    [
        (3, (), {}, TypeError, "export takes a function, and was given a int"),
        (loss, (PARAMS, X), {"target": "pdp-11"}, ValueError, "There is no target 'pdp-11'.* riscv64-linux, wasm32"),
        (loss, (PARAMS, X), {"target": "aarch64"}, ValueError, "did you mean 'aarch64-"),
        (loss, (PARAMS, X), {"format": "elf"}, ValueError, "'library', 'c', 'llvm', 'assembly', and was given 'elf'"),
        (loss, (PARAMS, X), {"format": "c", "target": "wasm32"}, ValueError, "A file of C is for all machines"),
        (loss, (PARAMS, X), {"name": "a-b"}, ValueError, "'a-b' cannot be the name of a function in C"),
        (loss, (PARAMS, X), {"name": "double"}, ValueError, "'double' cannot be the name"),
        (untraceable, (1.0,), {}, wg.TrackedValueError, "float"),
        (assigns, (np.ones(2),), {}, wg.GradientError, "assigns to a tensor that it captures"),
        (lambda x: None, (1.0,), {}, ValueError, "returns no array"),
        (lambda x: x, (np.ones(2, np.float16),), {}, TypeError, "x has the dtype float16"),
        (lambda x: x, (np.array(["a"]),), {}, TypeError, "dtype"),
        (loss, (PARAMS,), {}, TypeError, "missing 1 required positional argument"),
    ],
)
def test_what_cannot_be_exported(f, args, options, error, message, tmp_path):
    with pytest.raises(error, match=message):
        wg.export(f, *args, path=tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


def test_the_path_is_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file"):
        wg.export(loss, PARAMS, X, path=tmp_path / "file")


def test_names_of_arguments_become_names_of_c(tmp_path):
    def f(double, x_0, x, result):
        return {"int": double + x_0, "a b": x[0] * result}

    wg.export(f, 1.0, 2.0, [3.0], 4.0, path=tmp_path)
    header = (tmp_path / "f.h").read_text()
    assert "const double *double_, const double *x_0, const double *x_0_2, const double *result," in header
    assert "double *result_int, double *result_a_b, void *arena)" in header


@pytest.mark.parametrize("format", FORMATS)
def test_names_that_c_has_are_refused(format, tmp_path):
    reasons = {
        "the C library has it": ["memcpy", "gamma", "y0", "y0f", "cosl", "read", "index", "free", "int64_t", "std"],
        "a word of C or C\\+\\+, or a macro": ["errno", "class", "_Bool", "typeof", "I", "NULL", "INT64_MAX", "assert"],
        "begin with an underscore": ["_loss", "__loss"],
        "a header or a library of C": ["math", "m", "stdint", "string"],
    }
    for reason, names in reasons.items():
        for name in names:
            with pytest.raises(ValueError, match=f"'{name}' cannot be the name .* because .*{reason}.*name='my_"):
                wg.export(lambda x: 2.0 * x, 1.0, path=tmp_path / "new", name=name, format=format)

    def gamma(x):
        return 2.0 * x

    with pytest.raises(ValueError, match="'gamma' cannot be the name"):
        wg.export(gamma, 1.0, path=tmp_path / "new", format=format)
    assert not (tmp_path / "new").exists()
    assert wg.export(gamma, 1.0, path=tmp_path / "new", name="memories", format=format).name == "memories"


@needs_gcc
@pytest.mark.parametrize("format", ["library", "c"])
def test_names_of_arguments_that_c_has(format, tmp_path):
    def f(i, status, errno, gamma, y0, I, remove, a, A, fabs, i_):  # noqa: E741
        return i + status * errno + gamma + y0 * I + remove + a + A.sum() + np.abs(fabs) * i_

    arguments = [*np.arange(1.0, 9.0), np.ones(2), 0.5, 3.0]
    made = wg.export(f, *arguments, path=tmp_path, format=format)
    header = (tmp_path / "f.h").read_text()
    assert "const double *errno_" in header
    assert "#define F_A_SIZE 1\n#define F_A_2_SIZE 2\n" in header
    np.testing.assert_allclose(run_example(made)["result"], f(*arguments), rtol=1e-15)


def test_partial_functions_and_lambdas_have_names(tmp_path):
    assert wg.export(lambda x: x, 1.0, path=tmp_path).name == "function"
    assert wg.export(partial(loss, PARAMS), X, path=tmp_path).name == "partial"
