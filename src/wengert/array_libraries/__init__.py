"""Arrays on devices: what runs operations there where NumPy's implementation does not. See `core/devices.py`."""
