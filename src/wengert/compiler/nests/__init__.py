"""Loop nests: what a kernel computes, and the decisions by which it is computed."""
