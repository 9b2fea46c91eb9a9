"""A few seconds of use that need nothing but the installed package: run with the Python on which to try a wheel."""

from __future__ import annotations

import pickle
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import onebatchpam
from onebatchpam import FasterPAM, OneBatchPAM

X = load_digits().data
for metric in ("manhattan", "euclidean", "cosine", "canberra"):
    for rows in (X, X.astype(np.float32) + 0.3):
        model = OneBatchPAM(10, metric=metric, batch_size=300, n_jobs=2, random_state=0).fit(rows)
        assert np.array_equal(model.predict(rows), model.labels_), metric
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(rows), model.labels_), metric
assert FasterPAM(10, random_state=0).fit(X).inertia_ > 0

assert (Path(onebatchpam.__file__).parent / "report" / "templates" / "report.html.j2").is_file()

command = Path(sysconfig.get_path("scripts")) / "onebatchpam"
printed = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
assert printed.strip() == onebatchpam.__version__, printed
print(f"onebatchpam {onebatchpam.__version__} works on Python {sys.version.split()[0]}, {sysconfig.get_platform()}")
