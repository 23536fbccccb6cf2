"""Random programs over the whole table of operations, run in every mode: `python -m tools.fuzz --programs 2000`."""
