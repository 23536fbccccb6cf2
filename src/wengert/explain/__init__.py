"""How a derivative comes about: recorded line by line, shown as tables, pictures and pages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation, Mode


class Explain(ModuleType):
    """`wg.explain` is this folder, and Python makes it an attribute of the package; users call it, so it is a function, too."""

    def __call__(self, f: Callable, *args: Any, mode: Mode = "reverse", seed: Any = None, **kwargs: Any) -> Explanation:
        """How the derivative of `f` comes about at these arguments; see `wengert.explain.explanation.explain`."""
        from wengert.explain.explanation import explain

        return explain(f, *args, mode=mode, seed=seed, **kwargs)


sys.modules[__name__].__class__ = Explain
