"""`python -m wengert` is the command `wengert`."""

import sys

from wengert.cli import main

if __name__ == "__main__":
    sys.exit(main())
