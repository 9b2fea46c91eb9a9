"""Warnings point at the line of the user's program, whatever lies between it and the place that warns."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onebatchpam

PROGRAM = """
import warnings
import joblib, numpy as np, pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from onebatchpam import FasterPAM, OneBatchPAM, distance_block, medoids_of, select_k
warnings.simplefilter("always")
X = np.array([[0.0], [0.0], [1.0]])
matrix = np.random.RandomState(0).rand(30, 30) * (1 - np.eye(30))
table = pd.DataFrame({"id": range(60), "letter": list("abc") * 20})

def through_a_function_of_the_user():
    OneBatchPAM(3).fit(X)  # warns: distinct clusters

OneBatchPAM(3).fit(X)  # warns: distinct clusters
OneBatchPAM(3).fit_predict(X)  # warns: distinct clusters
FasterPAM(3).fit_transform(X)  # warns: distinct clusters
through_a_function_of_the_user()
make_pipeline(StandardScaler(), OneBatchPAM(3)).fit(X)  # warns: distinct clusters
OneBatchPAM(2, max_iter=1, random_state=0).fit(np.random.RandomState(0).rand(500, 2))  # warns: max_iter=1
select_k(X, [3])  # warns: distinct clusters
OneBatchPAM(2, metric="gower").fit(table)  # warns: like ids
select_k(table, [2], metric="gower")  # warns: like ids
medoids_of(table, [0, 1] * 30, "gower")  # warns: like ids
distance_block(np.eye(3), np.eye(3))
OneBatchPAM(2, metric="precomputed", random_state=0).fit(np.eye(30))  # warns: similarities
OneBatchPAM(2, metric="precomputed", random_state=0).fit(matrix).predict(matrix)  # warns: not symmetric
OneBatchPAM(2, metric="precomputed", random_state=0).fit(matrix).assess_rows(matrix)  # warns: not symmetric
"""


def test_every_warning_points_at_the_line_that_called(tmp_path):
    program = tmp_path / "analysis.py"
    program.write_text(PROGRAM)
    run = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    lines = PROGRAM.splitlines()
    expected = {number: line.split("# warns: ")[1] for number, line in enumerate(lines, 1) if "# warns" in line}
    found = {}
    for file, number, text in re.findall(r"^(\S+\.py):(\d+): \w+: (.*)$", run.stderr, re.MULTILINE):
        assert file == str(program), f"{file}:{number}: {text}"
        found.setdefault(int(number), []).append(text)
    assert found.keys() == expected.keys()
    for number, part in expected.items():
        assert all(part in text for text in found[number]), (lines[number - 1], found[number])


@pytest.mark.parametrize("way", ["pickle.load(open(path, 'rb'))", "joblib.load(path)"])
def test_a_model_of_another_version(way, tmp_path):
    model = onebatchpam.OneBatchPAM(2).fit([[0.0], [1.0]])
    saved = pickle.dumps(model).replace(onebatchpam.__version__.encode(), b"9" * len(onebatchpam.__version__))
    (tmp_path / "model.pkl").write_bytes(saved)
    program = tmp_path / "open.py"
    program.write_text(f"import pickle, joblib, sys\npath = {str(tmp_path / 'model.pkl')!r}\n{way}\n")
    run = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert f"{program}:3: UserWarning: this OneBatchPAM was saved by" in run.stderr


def test_all_warnings_go_the_same_way():
    package = Path(onebatchpam.__file__).parent
    direct = [path.name for path in package.rglob("*.py") if "warnings.warn(" in path.read_text()]
    assert direct == ["_warn.py"]


def test_an_interpreter_that_ends_while_a_native_object_is_in_use_says_nothing():
    program = "import ctypes, numpy; from onebatchpam._core import PackedColumns\n"
    program += "packed = PackedColumns(numpy.eye(3), 'euclidean')\n"
    program += "ctypes.pythonapi.Py_IncRef(ctypes.py_object(packed))\n"  # as a traceback or a thread may hold it
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
