"""The package is used for hours: `python -m tools.soak --minutes 60`."""
