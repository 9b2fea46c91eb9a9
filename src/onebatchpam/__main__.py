"""The command line as a module: `python -m onebatchpam`."""

import sys

from onebatchpam.cli import main

if __name__ == "__main__":
    sys.exit(main())
