"""`wengert play`: the page of a formula that can be edited, served to a browser on the same machine."""
