"""Every public name of NumPy is in Wengert, or in the list of what is not, with a reason and an alternative that it
raises with.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.core.absent import NAMESPACES, absent, why_absent
from wengert.core.array import FUNCTIONS, UFUNCS

DOCS = Path(__file__).parents[2] / "docs"
OF_OTHER_PLATFORMS = {"complex192", "complex256", "float128", "float96"}
OF_OLDER_VERSIONS = {"in1d", "itemset", "newbyteorder", "ptp", "tostring", "trapz"}
OWN_FOLDERS = {name for name in np.__all__ if importlib.util.find_spec(f"wengert.{name}")}


def test_each_name_of_numpy_is_here_or_has_a_reason():
    names = {name for name in np.__all__ if not name.startswith("_")} - OF_OLDER_VERSIONS
    assert names - set(wg.__all__) - OWN_FOLDERS - set(absent("np")) == set()
    assert set(absent("np")) & set(dir(wg)) == set()
    assert set(absent("np")) - names <= OF_OTHER_PLATFORMS


def test_nothing_is_missing_in_linalg_and_fft():
    assert set(np.linalg.__all__) - {"linalg"} <= set(wg.linalg.__all__)
    assert set(np.fft.__all__) <= set(wg.fft.__all__)


def test_each_method_of_arrays_is_here_or_has_a_reason():
    names = {name for name in dir(np.ndarray) if not name.startswith("_")}
    here = {name for name in names if name not in absent("np.ndarray")} - OF_OLDER_VERSIONS
    assert here <= set(dir(wg.Tensor))
    assert set(absent("np.ndarray")) <= names


def test_names_are_listed_once():
    for groups in NAMESPACES.values():
        names = [name for group in groups for name in group.names.split()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("name", absent("np"))
def test_asking_for_one_names_the_alternative(name):
    with pytest.raises(
        AttributeError, match=rf"module 'wengert' has no attribute '{name}', which is in np\. .*Use "
    ) as raised:
        getattr(wg, name)
    assert why_absent(f"np.{name}") in str(raised.value)
    assert not hasattr(wg, name)


def test_a_name_that_nobody_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'sine'$"):
        _ = wg.sine


DISPATCHED = {
    "save": lambda x: np.save("nowhere.npy", x),
    "savetxt": lambda x: np.savetxt("nowhere.txt", x),
    "array2string": np.array2string,
    "array_repr": np.array_repr,
    "einsum_path": lambda x: np.einsum_path("ij->ji", x),
    "shares_memory": lambda x: np.shares_memory(x, x),
    "may_share_memory": lambda x: np.may_share_memory(x, x),
    "common_type": np.common_type,
    "min_scalar_type": np.min_scalar_type,
}


@pytest.mark.parametrize("name", DISPATCHED)
def test_calling_one_on_a_value_names_the_alternative(name):
    with pytest.raises(TypeError, match=rf"np\.{name} is not in Wengert's table.*test_absent\.py:\d+\. ") as raised:
        DISPATCHED[name](wg.ones((2, 2)))
    assert str(raised.value).endswith(why_absent(f"np.{name}"))


@pytest.mark.parametrize("name", absent("np.ndarray"))
def test_methods_of_arrays_that_values_have_not(name):
    x = wg.tensor([1.0])
    assert not hasattr(x, name)
    with pytest.raises(AttributeError, match=rf"'Tensor' object has no attribute '{name}'\. .*Use "):
        getattr(x, name)


def test_what_numpy_dispatches_is_known_or_has_a_reason():
    """Functions that NumPy hands over when one is called on a value: none of them ends in an error without an
    alternative.
    """
    for name in set(np.__all__) - set(absent("np")) - OWN_FOLDERS - OF_OLDER_VERSIONS:
        function = getattr(np, name)
        if isinstance(function, np.ufunc):
            assert function in UFUNCS, name
        elif hasattr(function, "_implementation"):
            assert function in FUNCTIONS, name


def test_the_page_is_up_to_date():
    text = (DOCS / "numpy.md").read_text()
    version = ".".join(np.__version__.split(".")[:2])
    if f"with NumPy {version})" not in text or sys.platform != "linux":
        pytest.skip("the page is about another version of NumPy, or another platform")
    code = "import absent; print(absent.page(), end='')"
    page = subprocess.run([sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True).stdout
    assert text == page, "run `python docs/absent.py`"


@pytest.mark.parametrize(("joiner", "name"), [(np.c_, "np.c_ (wg.column_stack"), (np.r_, "np.r_ (wg.concatenate")])
def test_joining_by_indexing(joiner, name):
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    for parts in ((x, x), (np.ones(2), x), (x[0], 1.0)):
        with pytest.raises(wg.TrackedValueError) as error:
            joiner[parts]
        assert str(error.value).startswith(name)
        assert "test_absent.py" in str(error.value)
    np.testing.assert_array_equal(joiner[wg.tensor([1.0, 2.0]), [3.0, 4.0]], joiner[[1.0, 2.0], [3.0, 4.0]])
