"""For tests and for examples in docstrings: the options that choose a sample of them."""

pytest_plugins = ["tests.sampling"]
