"""Convolutions: direct loops for floats."""

from __future__ import annotations

from wengert.compiler.forms.lowering import lowering
from wengert.compiler.routines.convolution.routine import FILTERS, RESULTS, SIGNALS
from wengert.ops.signal import convolution as ops

lowering.enter(RESULTS, ops._convolution)
lowering.enter(SIGNALS, ops._convolution_signals)
lowering.enter(FILTERS, ops._convolution_filters)
