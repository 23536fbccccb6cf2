"""Attention in blocks."""

from __future__ import annotations

from wengert.compiler.forms.blocked_attention import ATTENTION, ATTENTION_PULL
from wengert.compiler.forms.lowering import lowering
from wengert.compiler.routines.attention.routine import ATTEND, PULL

lowering.enter(ATTEND, ATTENTION)
lowering.enter(PULL, ATTENTION_PULL)
