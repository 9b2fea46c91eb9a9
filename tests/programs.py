"""Programs that tests run in a process of their own, as tasks for `children`."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import warnings


def run_program(tell, path, folder):
    """Run a Python file in a folder as a user would, with warnings for users as errors; return what it prints."""
    os.chdir(folder)
    os.environ["MPLBACKEND"] = "template"  # matplotlib's backend that draws nothing
    warnings.simplefilter("error", UserWarning)
    warnings.simplefilter("default", DeprecationWarning)  # which a warning for users of pyparsing is as well
    sys.argv = [str(path)]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(path), run_name="__main__")
    return printed.getvalue()
