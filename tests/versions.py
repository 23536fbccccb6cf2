"""NumPy and SciPy are the specification, as they are now.

Where earlier versions behave otherwise, there is nothing to compare with.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy


def at_least(module, *version):
    """Whether a library has this version or a later one."""
    return tuple(map(int, module.__version__.split(".dev")[0].split("rc")[0].split(".")))[: len(version)] >= version


def needs_numpy(*version):
    wanted = ".".join(map(str, version))
    return pytest.mark.skipif(not at_least(np, *version), reason=f"NumPy before {wanted} gives something else")


def needs_scipy(*version):
    wanted = ".".join(map(str, version))
    return pytest.mark.skipif(not at_least(scipy, *version), reason=f"SciPy before {wanted} gives something else")
