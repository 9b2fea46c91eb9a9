"""The rooms of the package: each uses only the rooms below it, and only what their doors offer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "onebatchpam"
FLOORS = """__main__ | cli _old_names | report | dask evaluation | algorithms | answers | bounds | search batch | blocks
            | space | metrics | data | _memory _draws _run
            | _new_files _tiles _parameters _progress _show _warn _optional | _interrupts | _core"""
FLOOR = {room: -floor for floor, rooms in enumerate(FLOORS.split("|")) for room in rooms.split()}
FILES = sorted(PACKAGE.rglob("*.py"))


def find_imports(path):
    """Yield each import of the package's own modules as the list of names below `onebatchpam`, with its syntax node."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "onebatchpam":
            below = node.module.split(".")[1:]
            yield from [(below, node)] if below else [([alias.name], node) for alias in node.names]


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_file_stands_in_a_room():
    assert {room_of(path) for path in FILES} == (FLOOR.keys() | {"__init__"}) - {"_core"}


def test_the_note_of_the_package_and_the_tree_name_every_room():
    note = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text()))
    tree = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text()
    assert FLOOR.keys() - set(re.findall(r"\w+", note)) == {"__main__"}
    assert FLOOR.keys() - set(re.findall(r"\w+", tree)) == {"__main__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_uses_only_the_doors_of_rooms_below_it(path):
    room = room_of(path)
    for (other, *inside), _ in find_imports(path) if room != "__init__" else ():
        assert other == room or (FLOOR[other] < FLOOR[room] and not inside), f"{room} imports {other}{inside}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_import_only_other_packages(path):
    """An import of the package's own files inside a function would hide a cycle."""
    for names, node in find_imports(path):
        assert node.col_offset == 0 or is_for_types_only(path, node), f"{'.'.join(names)} is imported in a function"


def is_for_types_only(path, node):
    blocks = [block for block in ast.parse(path.read_text()).body if isinstance(block, ast.If)]
    return any(block.lineno < node.lineno <= block.end_lineno for block in blocks)
