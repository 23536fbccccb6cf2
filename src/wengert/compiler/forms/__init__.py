"""What operations become in native code: lowerings, expansions, and the form of each operation in a program."""
