"""Models: modules with parameters, layers, losses, and how they are trained."""

from wengert.nn import metrics as metrics
from wengert.nn.callbacks import Callback, EarlyStopping, Schedule
from wengert.nn.checkpoints import Checkpoint
from wengert.nn.fit import fit
from wengert.nn.history import History
from wengert.nn.module import Module, Parameter
from wengert.nn.training import NonFiniteLossError, Training
from wengert.nn.weights import load, load_metadata, save

__all__ = [
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "History",
    "Module",
    "NonFiniteLossError",
    "Parameter",
    "Schedule",
    "Training",
    "fit",
    "load",
    "load_metadata",
    "metrics",
    "save",
]
