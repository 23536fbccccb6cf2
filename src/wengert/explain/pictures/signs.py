"""The signs of operators that stand alone in a picture: the aspect `sign`, filled in `explain/aspects/`."""

from wengert.core.aspects import Aspect

sign: Aspect[str] = Aspect("sign", "its label in a picture of the graph", rest="its notation or its name is used")
