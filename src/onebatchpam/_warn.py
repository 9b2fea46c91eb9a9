"""Warnings that point at the line of the user's program by which this package was called."""

from __future__ import annotations

import sys
import warnings

# A warning points at the first caller outside these modules: scikit-learn's pipelines and joblib call our methods, too,
# and pickle and copy open models.
PASSED_OVER = {"onebatchpam", "sklearn", "joblib", "pickle", "copy"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line."""
    warnings.warn(message, category, stacklevel=level_of_user())


def level_of_user() -> int:
    """Return the `stacklevel` of the user's line for a warning that the caller of this function gives."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED_OVER:
        level, frame = level + 1, frame.f_back
    return level
