"""`python -m bench pictures`, on small images and a small example."""

from __future__ import annotations

import shutil

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
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    monkeypatch.setattr(pictures, "load", lambda name, folder: np.random.default_rng(0).random((200, 784)))
    assert main(["pictures", "--folder", str(tmp_path)]) == 0
    names = ("label_few", "no_mean_exists", "mean_is_nobody", "small-ranks", "figure1-growth")
    paths = [tmp_path / f"{name}.png" for name in names]
    assert all(path.stat().st_size > 1000 for path in paths)
    out = capsys.readouterr().out
    assert out.split()[:5] == list(map(str, paths))  # the limits follow if there are records
    assert out.endswith("report.png is left as it is: chromium, chromedriver and selenium are not all installed\n")


def test_every_mean_stands_above_the_medoid_that_is_like_it():
    medoids = np.random.default_rng(0).random((6, 9))
    order = np.array([3, 0, 5, 1, 4, 2])
    assert (pictures.pair_up(medoids[order] + 0.01, medoids) == order).all()


def test_the_medoids_of_a_report_are_photographed(tmp_path):
    pytest.importorskip("selenium")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    page, path = tmp_path / "page.html", tmp_path / "page.png"
    part = "<section style='width: 300px'><h2 id='medoids'>Medoids</h2></section>"
    page.write_text(f"<div class='frame'><nav></nav><main>{part}</main></div>")
    pictures.photograph(page.as_uri(), browser, driver, str(tmp_path), path)
    width, height = np.frombuffer(path.read_bytes()[16:24], ">u4")
    assert 300 <= width <= 340
    assert 20 <= height <= 200
