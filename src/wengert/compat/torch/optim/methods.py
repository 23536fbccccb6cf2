"""The optimisers of `wg.optim` that PyTorch has, with the arguments that it has beside theirs."""

from __future__ import annotations

from typing import Any

import wengert.optim as engine
from wengert.compat.torch.optim.optimizer import EngineSteps

__all__ = ["LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop"]


def optimizer(method: type[Any]) -> type[Any]:
    """The class of this layer for an optimiser of `wg.optim`."""
    doc = (method.__doc__ or "").partition("\n\n")[0]
    return type(method.__name__, (EngineSteps, method), {"__doc__": doc, "__module__": __name__})


LBFGS, SGD, RMSprop = optimizer(engine.LBFGS), optimizer(engine.SGD), optimizer(engine.RMSprop)
Adadelta, Adagrad = optimizer(engine.Adadelta), optimizer(engine.Adagrad)
Adam, AdamW, Adamax = optimizer(engine.Adam), optimizer(engine.AdamW), optimizer(engine.Adamax)
NAdam, RAdam = optimizer(engine.NAdam), optimizer(engine.RAdam)
