"""Random numbers whose derivatives in the parameters of their distribution are known: `rng = wg.random.default_rng(seed)`."""

from wengert.random.generator import Generator, default_rng

__all__ = ["Generator", "default_rng"]
