"""What other layers know of control flow: the graphs that a loop or choice holds, how it is written, and improved."""
