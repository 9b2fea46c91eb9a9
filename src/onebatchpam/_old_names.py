"""The names of classes in version 0.1.0, under which pickle looks for them when it opens a model saved by it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

# For each old module and its classes: the room in which they are today, and their new names.
OLD_NAMES = {
    "_alternate": ("algorithms", {"Alternate": "Alternate"}),
    "_banditpam": ("algorithms", {"BanditPAM": "BanditPAM"}),
    "_callables": (
        "metrics.functions",
        {name: name for name in ("BlockFunction", "PairFunction", "block_metric", "pair_metric")},
    ),
    "_clara": ("algorithms", {"FasterCLARA": "FasterCLARA"}),
    "_estimator": ("algorithms", {"OneBatchPAM": "OneBatchPAM"}),
    "_fasterpam": ("algorithms", {"FasterPAM": "FasterPAM"}),
    "_gower": (
        "metrics.gower",
        {"Gower": "Gower", "Encoding": "Encoding", "Numbers": "NumericEncoder", "Levels": "LevelEncoder"},
    ),
    "_metrics": ("metrics.storage", {"NativeMetric": "NativeMetric", "LibraryMetric": "LibraryMetric"}),
    "_seeding": (
        "algorithms",
        {name: name for name in ("KMC2", "KMeansPlusPlus", "LSKMeansPlusPlus", "RandomMedoids")},
    ),
    "_sparse": ("metrics.sparse", {"SparseMetric": "SparseMetric"}),
    "_text": ("metrics.text", {"TextMetric": "TextMetric"}),
}


class OldModule(ModuleType):
    """A module of version 0.1.0. It imports the room of a class when pickle asks for the class."""

    def __getattr__(self, name: str) -> object:
        package, _, module = self.__name__.rpartition(".")
        room, names = OLD_NAMES[module]
        if name not in names:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{room}"), names[name])


def register(package: str) -> None:
    """Make the old modules of the package known to `import`."""
    for module in OLD_NAMES:
        sys.modules[f"{package}.{module}"] = OldModule(f"{package}.{module}")
