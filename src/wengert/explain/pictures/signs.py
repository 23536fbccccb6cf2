"""The signs of operators that stand alone in a picture: the aspect `sign`, filled in `explain/aspects/`."""

from wengert.core.aspects import Aspect

sign: Aspect[str] = Aspect(
    "sign", "how it is drawn where no operands stand beside it", rest="it is drawn as formulas write it, or by name"
)
