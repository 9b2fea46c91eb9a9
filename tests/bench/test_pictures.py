"""`python -m bench pictures`, on small images and a small example."""

from __future__ import annotations

import numpy as np
import pytest

from bench.__main__ import main
from bench.studies import pictures


def test_all_pictures_are_written(monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "examples").mkdir()
    example = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.plot([3, 4])\n"
    for name in ("plot_label_few.py", "plot_no_mean_exists.py"):
        (tmp_path / "examples" / name).write_text(example)
    monkeypatch.setattr(pictures, "find_spec", lambda name: name)
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    monkeypatch.setattr(pictures, "load", lambda name, folder: np.random.default_rng(0).random((200, 784)))
    assert main(["pictures", "--folder", str(tmp_path)]) == 0
    names = ("label_few", "no_mean_exists", "mean_is_nobody", "small-ranks", "figure1-growth")
    paths = [tmp_path / f"{name}.png" for name in names]
    assert all(path.stat().st_size > 1000 for path in paths)
    assert capsys.readouterr().out.split()[:5] == list(map(str, paths))  # the limits follow if there are records


def test_every_mean_stands_above_the_medoid_that_is_like_it():
    medoids = np.random.default_rng(0).random((6, 9))
    order = np.array([3, 0, 5, 1, 4, 2])
    assert (pictures.pair_up(medoids[order] + 0.01, medoids) == order).all()
