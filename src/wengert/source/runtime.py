"""What rewritten functions call: statements that run as Python does, or become operations if a value is traced.

Whatever plain Python values decide stays plain Python. A branch or loop on a traced value becomes one operation, whose
results are the variables that it changes.
"""

from builtins import slice as slice

from wengert.source.branches import choose as choose
from wengert.source.calls import callee as callee
from wengert.source.calls import get_item as get_item
from wengert.source.calls import read as read
from wengert.source.calls import set_item as set_item
from wengert.source.calls import update as update
from wengert.source.logic import all_true as all_true
from wengert.source.logic import any_true as any_true
from wengert.source.logic import chain as chain
from wengert.source.logic import check as check
from wengert.source.logic import first_true as first_true
from wengert.source.logic import last_true as last_true
from wengert.source.logic import negate as negate
from wengert.source.logic import raised as raised
from wengert.source.loops import iterate as iterate
from wengert.source.loops import repeat as repeat
from wengert.source.rows import Rows as Rows
from wengert.source.values import use as use
