"""Every function and method of the Array API standard is there, takes the standard's arguments, and returns what the
standard says.
"""

from __future__ import annotations

import math
from inspect import Parameter, signature

import array_api_strict as strict
import pytest
from tests.standard.calls import FUNCTIONS, agree, function_of, parameters, run, translated
from tests.standard.examples import EXAMPLES

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
UNDEFINED = {("astype", "device"), ("from_dlpack", "device"), ("from_dlpack", "copy")}
"""Parameters whose default in the reference implementation is a value of its own."""
UNSPECIFIED = {"empty", "empty_like"}
"""Functions whose values are arbitrary."""

METHODS = {
    "__array_namespace__": ("api_version",),
    "__dlpack__": ("stream", "max_version", "dl_device", "copy"),
    "to_device": ("stream",),
}
METHOD_NAMES = sorted(
    name
    for name in vars(type(strict.ones(1)))
    if name.startswith("__") and callable(getattr(type(strict.ones(1)), name))
) + ["to_device"]
NOT_IN_THE_STANDARD = {
    "__init__",
    "__new__",
    "__repr__",
    "__str__",
    "__array__",
    "__buffer__",
    "__len__",
    "__iter__",
    "__hash__",
    "__array_ufunc__",
    "__class__",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_standards_parameters(name):
    """Those that may be given by position come first and in order.

    Those that may be given by name have the standard's names.
    """
    ours = list(signature(function_of(wg, name)).parameters.values())
    by_name = {parameter.name: parameter for parameter in ours}
    for i, theirs in enumerate(parameters(name)):
        if theirs.kind is Parameter.KEYWORD_ONLY:
            assert theirs.name in by_name, f"no parameter {theirs.name}"
            assert by_name[theirs.name].kind in NAMED
            continue
        assert len(ours) > i, f"no parameter {theirs.name}"
        if theirs.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL):
            assert ours[i].kind is theirs.kind
        if theirs.kind is Parameter.POSITIONAL_OR_KEYWORD:
            assert ours[i].name == theirs.name
        if theirs.kind is Parameter.POSITIONAL_ONLY:
            assert ours[i].kind in (
                Parameter.POSITIONAL_ONLY,
                Parameter.POSITIONAL_OR_KEYWORD,
                Parameter.VAR_POSITIONAL,
            )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_does_what_the_reference_does(name):
    args = EXAMPLES[name]
    out, expected = run(wg, name, *args), run(strict, name, *args)
    if name in UNSPECIFIED:
        assert out.shape == expected.shape
        assert out.dtype == getattr(wg, expected.dtype._np_dtype.name)
    elif name in ("finfo", "iinfo"):
        for field in ("bits", "min", "max"):
            assert getattr(out, field) == getattr(expected, field)
    else:
        agree(out, expected)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if any(p.kind in NAMED for p in parameters(name))])
def test_keywords_and_their_defaults(name):
    """Each argument that may be named is named; each that has a default gets it, which changes nothing."""
    positional, kwargs = [], {}
    args = list(EXAMPLES[name])
    for parameter in parameters(name):
        if parameter.kind is Parameter.VAR_POSITIONAL:
            positional, args = args, []
        elif args and parameter.kind is Parameter.POSITIONAL_ONLY:
            positional.append(args.pop(0))
        elif args and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            kwargs[parameter.name] = args.pop(0)
        elif parameter.kind in NAMED and (name, parameter.name) not in UNDEFINED:
            kwargs[parameter.name] = parameter.default
    out, expected = run(wg, name, *positional, **kwargs), run(wg, name, *EXAMPLES[name])
    if name in UNSPECIFIED:
        assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
    elif isinstance(expected, wg.Array):
        assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
        assert wg.all(out == expected)
    elif isinstance(expected, tuple | list):
        assert len(out) == len(expected)
        for part, expected_part in zip(out, expected, strict=True):
            assert wg.all(part == expected_part)
    else:
        assert out == expected


@pytest.mark.parametrize("name", [name for name in METHOD_NAMES if name not in NOT_IN_THE_STANDARD])
def test_an_array_has_the_standards_methods(name):
    method = getattr(wg.ones((1, 1)), name)
    ours = signature(method).parameters
    for keyword in METHODS.get(name, ()):
        assert ours[keyword].kind in NAMED
    theirs = signature(getattr(strict.ones((1, 1)), name)).parameters.values()
    needed = [
        p
        for p in theirs
        if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) and p.default is Parameter.empty
    ]
    assert len(ours) >= len(needed)


@pytest.mark.parametrize("name", ["dtype", "device", "mT", "ndim", "shape", "size", "T"])
def test_an_array_has_the_standards_attributes(name):
    assert hasattr(wg.ones((1, 1)), name)


@pytest.mark.parametrize("name", ["capabilities", "default_device", "default_dtypes", "devices", "dtypes"])
def test_inspection_has_the_standards_parameters(name):
    ours, theirs = (signature(getattr(xp.__array_namespace_info__(), name)).parameters for xp in (wg, strict))
    for parameter in theirs.values():
        assert ours[parameter.name].kind in NAMED
        assert ours[parameter.name].default is None


@pytest.mark.parametrize("name", ["e", "pi", "inf", "nan"])
def test_constants(name):
    constant = getattr(wg, name)
    assert isinstance(constant, float)
    assert constant == getattr(math, name) or math.isnan(constant) and name == "nan"


def test_newaxis_is_none():
    assert wg.newaxis is None


def test_an_unknown_argument_is_an_error():
    for name in ("sum", "sort", "zeros"):
        with pytest.raises(TypeError):
            function_of(wg, name)(*translated(EXAMPLES[name], wg), nonsense=1)
