"""Native entries whose arguments and results are trees, by name, or constants: what matches, and references."""

from __future__ import annotations

import collections
import gc
import sys
import threading
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from tests.compiler.entry.entry_programs import identity_of, load_entry, needs_support

from wengert.compiler.entry import entry
from wengert.compiler.entry.entry import callable_from
from wengert.compiler.entry.entry_signature import Constant, EntrySignature, Nothing
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.machine import python_objects
from wengert.core.spec import Spec

pytestmark = needs_support

X, Y = np.arange(6.0).reshape(2, 3), np.arange(4, dtype=np.int32)
A, B, F = Argument.of(X), Argument.of(Y), Argument.of(1.0)
TREE = {"w": [A, (B, Constant(None))], "scale": F, 7: ()}


class Pair(NamedTuple):
    first: object
    second: object


class Key(str):
    """A string that is not a str."""

    __slots__ = ()


def tree():
    return {"w": [X, (Y, None)], "scale": 0.5, 7: ()}


def new_string(name: str) -> str:
    """A string that is equal to another, and another object."""
    return "".join(list(name))


def test_a_tree_goes_in_and_another_comes_out():
    result = [{"y": B.spec, "x": (A.spec,)}, Nothing(), {1: F.spec, "none": Nothing(), "empty": {}}, []]
    f = identity_of(EntrySignature([{"y": B, "x": [A]}, F], result))
    out = f({"y": Y, "x": [X]}, 0.25)
    first, none, last, empty = out
    assert [type(part) for part in (out, first, first["x"], last, empty)] == [list, dict, tuple, dict, list]
    assert list(first) == ["y", "x"]
    np.testing.assert_array_equal(first["y"], Y)
    np.testing.assert_array_equal(first["x"][0], X)
    assert none is None
    assert last == {1: 0.25, "none": None, "empty": {}}
    assert list(last) == [1, "none", "empty"]
    first["more"] = last[1] = None
    assert f({"y": Y, "x": [X]}, 0.25)[2] == {1: 0.25, "none": None, "empty": {}}
    assert list(f({"y": Y, "x": [X]}, 0.25)[0]) == ["y", "x"]


def test_keys_may_be_other_objects_that_are_equal():
    f = identity_of(EntrySignature([TREE], (A.spec, B.spec, F.spec)))
    given = {new_string("w"): [X, (Y, None)], new_string("scale"): 0.5, 7: ()}
    assert next(iter(given)) is not next(iter(TREE))
    for x, y in zip(f(given), (X, Y, 0.5), strict=True):
        np.testing.assert_array_equal(x, y)
    large = identity_of(EntrySignature([{10**6: F, 10**30: F}], (F.spec, F.spec)))
    assert large({int("1" + "0" * 6): 1.0, int("1" + "0" * 30): 2.0}) == (1.0, 2.0)
    assert large({10**6: 1.0, 10**30 + 1: 2.0}) is NotImplemented


OTHERS = {
    "other order": {"scale": 0.5, "w": [X, (Y, None)], 7: ()},
    "other key": {"v": [X, (Y, None)], "scale": 0.5, 7: ()},
    "other number": {"w": [X, (Y, None)], "scale": 0.5, 8: ()},
    "a float as key": {"w": [X, (Y, None)], "scale": 0.5, 7.0: ()},
    "key of a subclass": {Key("w"): [X, (Y, None)], "scale": 0.5, 7: ()},
    "missing key": {"w": [X, (Y, None)], "scale": 0.5},
    "one key more": {"w": [X, (Y, None)], "scale": 0.5, 7: (), 8: ()},
    "ordered": collections.OrderedDict(tree()),
    "default": collections.defaultdict(None, tree()),
    "empty": {},
    "not a dict": [[X, (Y, None)], 0.5, ()],
    "longer": tree() | {"w": [X, (Y, None), X]},
    "shorter": tree() | {"w": [X]},
    "a tuple for a list": tree() | {"w": (X, (Y, None))},
    "a list for a tuple": tree() | {"w": [X, [Y, None]]},
    "a named tuple": tree() | {"w": [X, Pair(Y, None)]},
    "a container for a leaf": tree() | {"w": [[X], (Y, None)]},
    "a leaf for a container": tree() | {"w": X},
    "no None": tree() | {"w": [X, (Y, 0)]},
    "None for an array": tree() | {"w": [None, (Y, None)]},
    "other shape": tree() | {"w": [X.T, (Y, None)]},
    "other dtype": tree() | {"w": [X, (Y.astype(np.int64), None)]},
    "an int for a float": tree() | {"scale": 1},
    "a spec": tree() | {"w": [Spec.of(X), (Y, None)]},
    "an array": X,
    "None": None,
}


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_is_not_taken(name):
    f = identity_of(EntrySignature([TREE], (A.spec, B.spec, F.spec)))
    assert f(tree()) is not NotImplemented
    counts = sys.getrefcount(X), sys.getrefcount(Y)
    assert f(OTHERS[name]) is NotImplemented
    assert (sys.getrefcount(X), sys.getrefcount(Y)) == counts


def test_many_leaves():
    """More than a few neighbouring arrays are read and made in loops, in the same order."""
    arrays = [np.full(1 + i % 3, float(i)) for i in range(40)]
    specs = list(map(Spec.of, arrays))
    leaves = [Argument("array", spec) for spec in specs]
    given = [arrays[:15], 1.5, {"a": tuple(arrays[15:30]), "b": arrays[30]}, *arrays[31:]]
    signature = EntrySignature(
        [leaves[:15], F, {"a": tuple(leaves[15:30]), "b": leaves[30]}, *leaves[31:]],
        (specs[:15], F.spec, tuple(specs[15:])),
    )
    f = identity_of(signature)
    first, number, rest = f(*given)
    assert number == 1.5
    for x, y in zip([*first, *rest], arrays, strict=True):
        np.testing.assert_array_equal(x, y)
    for i in (0, 14):
        wrong = [*arrays[:i], np.ones(7), *arrays[i + 1 : 15]]
        assert f(wrong, *given[1:]) is NotImplemented
    assert f(*given[:-1], np.ones(7)) is NotImplemented


def test_keyword_arguments():
    f = identity_of(EntrySignature([A], {"a": A.spec, "b": (B.spec,), "c": F.spec}, {"b": [B], "c": F}))
    out = f(X, b=[Y], c=2.0)
    np.testing.assert_array_equal(out["a"], X)
    np.testing.assert_array_equal(out["b"][0], Y)
    assert out["c"] == 2.0
    assert f(X, **{new_string("b"): [Y], new_string("c"): 2.0})["c"] == 2.0
    for args, names in [
        ((X,), {"c": 2.0, "b": [Y]}),
        ((X,), {"b": [Y]}),
        ((X,), {}),
        ((X,), {"b": [Y], "d": 2.0}),
        ((X,), {"b": [Y], "c": 2.0, "d": 2.0}),
        ((X, [Y], 2.0), {}),
        ((X, [Y]), {"c": 2.0}),
        ((), {"b": [Y], "c": 2.0}),
        ((X,), {"b": [X], "c": 2.0}),
    ]:
        assert f(*args, **names) is NotImplemented


def test_constants():
    def function(x):
        return x

    shape = (2, "same")
    constants = [True, "mean", 3, None, function, shape, 10**30, 0.5, len]
    assert all(Constant.of(value) for value in constants)
    f = identity_of(EntrySignature([F, *map(Constant, constants)], F.spec))
    assert f(1.5, *constants) == 1.5
    equal = [True, new_string("mean"), 3, None, function, shape, int("1" + "0" * 30), constants[7], len]
    assert f(1.5, *equal) == 1.5
    for i, other in enumerate([1, "sum", 4, False, test_constants, (2, "valid"), 10**30 + 1, -0.5, abs]):
        assert f(1.5, *[other if i == k else value for k, value in enumerate(constants)]) is NotImplemented
    assert Constant.of([1]) is None
    assert Constant.of(("a", [1])) is None
    assert Constant.of(Key("a")) is None


def test_references_on_every_way_out():
    """After results, mismatches, failed runs and missing memory, everything has as many references as before."""
    large = Spec((2**46,), X.dtype)
    arguments = [{"a": [A, B], "b": (F, Constant("c"))}]
    result = {"r": [A.spec, (B.spec,)], "s": {"t": F.spec, "n": Nothing()}}
    signature = EntrySignature(arguments, result, {"k": Constant(3)})
    f, stopped = identity_of(signature), identity_of(signature, status=1)
    no_memory = EntrySignature([[A]], {"a": [A.spec] * 10, "b": large, "c": F.spec, "d": large})
    run = "define i32 @wengert.run(ptr %inputs, ptr %outputs) {\n  ret i32 0\n}\n"
    failed = callable_from(load_entry(run, no_memory), no_memory)
    x, y, scale = X.copy(), Y.copy(), 0.75
    inner, pair = [x, y], (scale, new_string("c"))
    given, wrong = {"a": inner, "b": pair}, {"a": inner, "b": (scale, "d")}
    watched = [x, y, scale, inner, pair, given, wrong, None, NotImplemented, x.dtype, *signature.objects]

    def loop(times):
        for _ in range(times):
            f(given, k=3)
            f(wrong, k=3)
            f(given, k=4)
            f(given)
            stopped(given, k=3)

    assert f(given, k=3)["s"] == {"t": 0.75, "n": None}
    assert f(wrong, k=3) is NotImplemented
    assert stopped(given, k=3) is NotImplemented
    loop(100)
    gc.collect()
    counts = [sys.getrefcount(value) for value in watched]
    loop(20_000)
    for _ in range(100):
        with pytest.raises(MemoryError):
            failed([x])
    assert max(abs(sys.getrefcount(value) - count) for value, count in zip(watched, counts, strict=True)) < 20


def test_results_belong_to_the_caller():
    f = identity_of(EntrySignature([[A, B]], {"a": [A.spec], "b": (B.spec, {"c": Nothing()})}))
    out = f([X, Y])
    by_python = {"a": [X.copy()], "b": (Y.copy(), {"c": None})}
    counts = [[sys.getrefcount(x) for x in (tree, *tree.values(), *tree["a"], *tree["b"])] for tree in (out, by_python)]
    assert counts[0] == counts[1]
    out["a"].append(out)
    out["b"] = None
    again = f([X, Y])
    assert len(again["a"]) == 1
    assert again["b"][1] == {"c": None}


def test_cyclic_results_are_collected():
    """A dict of numbers is known to the garbage collector as soon as it holds something that may be cyclic."""
    f = identity_of(EntrySignature([[F]], {"a": F.spec}))

    class Holder:
        pass

    out, holder = f([1.0]), Holder()
    out["a"], holder.out = holder, out
    alive = weakref.ref(holder)
    del out, holder
    gc.collect()
    assert alive() is None


WAIT = """
define i32 @wengert.run(ptr %inputs, ptr %outputs) {
entry:
  %flag = load ptr, ptr %inputs
  %data.at = getelementptr ptr, ptr %inputs, i64 1
  %data = load ptr, ptr %data.at
  store volatile i64 1, ptr %flag
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %next = add i64 %i, 1
  %seen = load volatile i64, ptr %flag
  %here = icmp eq i64 %seen, 2
  %late = icmp ugt i64 %next, 20000000000
  %done = or i1 %here, %late
  br i1 %done, label %end, label %again
end:
  %value = load volatile double, ptr %data
  %out = load ptr, ptr %outputs
  store double %value, ptr %out
  %status = select i1 %here, i32 0, i32 1
  ret i32 %status
}
"""


def test_a_container_that_another_thread_empties():
    """The run holds what it reads, and gives it up at the end."""
    flag, data = np.zeros(1, np.int64), np.full(100_000, 3.5)
    signature = EntrySignature([Argument.of(flag), {"a": [Argument.of(data)]}], Spec((), np.dtype(float)))
    f = callable_from(load_entry(WAIT, signature, release_gil=True), signature)
    given, alive = {"a": [data]}, weakref.ref(data)
    del data
    found = []
    thread = threading.Thread(target=lambda: found.append(f(flag, given)), daemon=True)
    thread.start()
    while flag[0] == 0:
        pass
    given["a"].clear()
    given.clear()
    assert alive() is not None
    flag[0] = 2
    thread.join(60)
    assert found == [3.5]
    assert alive() is None


def test_symbols_are_in_the_table():
    signature = EntrySignature([TREE, (A,)], [{"a": A.spec}, (B.spec,)], {"k": Constant(True)})
    lines = entry.write_entry(signature).splitlines()
    outside = [line.split("@")[1].split("(")[0].split(" ")[0] for line in lines if line.startswith("declare")]
    outside += [line.split("@")[1].split(" ")[0] for line in lines if "= external" in line]
    outside = [name for name in outside if not name.startswith("llvm.")]
    assert set(outside) <= python_objects.python_addresses().keys()
    assert len(outside) == len(set(outside)) > 20
