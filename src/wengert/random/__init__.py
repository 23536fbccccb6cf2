"""Random numbers, differentiable with respect to parameters: `rng = wg.random.default_rng(seed)`."""

from typing import NoReturn

from wengert.core.absent import advice
from wengert.random.counter_generator import CounterGenerator, counter_rng
from wengert.random.generator import Generator, default_rng

__all__ = ["CounterGenerator", "Generator", "counter_rng", "default_rng"]

_OLD_NAMES = {
    "rand": "random",
    "randn": "standard_normal",
    "randint": "integers",
    "sample": "random",
    "random_sample": "random",
}
"""Functions of `np.random` whose method has another name."""


def __getattr__(name: str) -> NoReturn:
    method = _OLD_NAMES.get(name, name)
    use = f" Draws are methods of a generator: rng = wg.random.default_rng(seed), and rng.{method}(...)."
    has_method = hasattr(Generator, method)
    raise AttributeError(
        f"module 'wengert.random' has no attribute {name!r}.{use if has_method else advice('wengert.random', name)}"
    )
