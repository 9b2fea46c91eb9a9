"""`python -m bench pictures`: the pictures of the README, and those of docs/ that need records, but no measurement.

"Where n² ends" and "scale" are drawn once `python -m bench limits` and `scale` have records in bench/results. The
picture of the report is a photograph of the page that `onebatchpam demo customers` writes, taken by Chromium.

"A mean is nobody": the ten centres of k-means above the ten medoids, from the 60,000 images of mnist.
`examples/plot_mean_is_nobody.py` does the same with the small images that come with scikit-learn. "Label 20 rows" and
"No mean exists" are what the examples of these names show; the latter is left out where aeon is not installed.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from bench.data.sets import load
from bench.measure.process import Limits
from bench.measure.records import RESULTS, Store
from bench.report import palette
from bench.report.figures import draw_growth, draw_ranks
from bench.report.report import read_scores
from bench.studies import limits, scale
from onebatchpam import OneBatchPAM
from onebatchpam.cli import main as run_command

ROOT = Path(__file__).parents[2]
SIDE = 28  # pixels of an image of mnist
RANKED = (  # one of each kind: more variants would only make the critical difference larger
    *("OneBatchPAM (default)", "FasterPAM", "OneBatchPAM-nniw", "BanditPAM++-5"),
    *("FasterCLARA-50", "LS-k-means++-10", "Alternate", "onebatch"),
)
BROWSER = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb")
SHOW_MEDOIDS = """
document.querySelector('.frame > nav').remove();  // the tables need its width
document.querySelector('.frame').style.display = 'block';
const section = document.querySelector('#medoids').closest('section');
section.style.padding = '1rem';
section.firstElementChild.style.marginTop = 0;
return section;
"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `pictures`."""
    parser = commands.add_parser("pictures", help="draw the pictures of the README")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs", help="where to write them (%(default)s)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Draw all pictures."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    show_example("plot_label_few.py", arguments.folder / "label_few.png")
    if find_spec("aeon") is not None:
        show_example("plot_no_mean_exists.py", arguments.folder / "no_mean_exists.png")
    draw_means_and_medoids(load("mnist", arguments.data), arguments.folder / "mean_is_nobody.png")
    for name, draw_scores in (("small", partial(draw_ranks, methods=RANKED)), ("figure1", draw_growth)):
        picture = draw_scores(read_scores(Store(RESULTS, name)), arguments.folder)
        assert picture is not None
        print(picture.path)
    records = Store(RESULTS / "limits", "limits").read()
    if records:
        default = Limits(limits.SECONDS, limits.GIGABYTES * 10**9)
        print(limits.draw(records, default, arguments.folder / "limits.png"))
    records = Store(RESULTS / "scale", "scale").read()
    if records:
        print(scale.draw(records, max(run.n or 0 for run in records), arguments.folder / "scale.png"))
    photograph_report(arguments.folder / "report.png")


def show_example(name: str, path: Path) -> None:
    """Run an example, and save the picture that it shows."""
    import matplotlib.pyplot as plt

    with plt.rc_context(), mock.patch.object(plt, "show", partial(plt.savefig, path, dpi=110)):
        runpy.run_path(str(ROOT / "examples" / name))
    plt.close("all")
    print(path)


def draw_means_and_medoids(X: NDArray[Any], path: Path) -> None:
    """Fit k-means and k-medoids to images, and draw their centres."""
    means = KMeans(n_clusters=10, n_init=4, random_state=0).fit(X).cluster_centers_
    medoids = OneBatchPAM(n_clusters=10, random_state=0).fit(X).medoid_indices_
    rows = medoids[pair_up(means, X[medoids])]
    draw(means, X[rows], rows, path)
    print(path)


def pair_up(means: NDArray[Any], medoids: NDArray[Any]) -> NDArray[np.intp]:
    """Return for each mean the medoid below it, such that the sum of their distances is the smallest."""
    partners: NDArray[np.intp] = linear_sum_assignment(cdist(means, medoids))[1]
    return partners


def draw(means: NDArray[Any], medoids: NDArray[Any], rows: NDArray[Any], path: Path) -> None:
    """Draw a line of means, and a line of medoids with the numbers of their rows."""
    import matplotlib.pyplot as plt

    places = {"left": 0.005, "right": 0.995, "bottom": 0.08, "top": 0.91, "wspace": 0.08, "hspace": 0.35}
    lines: Any = plt.figure(figsize=(10, 2.75)).subplots(2, len(rows), gridspec_kw=places)
    titles = ("k-means on mnist: averages that nobody wrote", "k-medoids on mnist: digits that somebody wrote")
    for line, title, images, colour in zip(lines, titles, (means, medoids), ("black", palette.OURS), strict=True):
        line[0].set_title(title, loc="left", fontsize=12, color=colour)
        for ax, image in zip(line, images, strict=True):
            ax.imshow(image.reshape(SIDE, SIDE), cmap="gray_r")
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("lightgray")
    for ax, row in zip(lines[1], rows, strict=True):
        ax.set_xlabel(f"row {row:,}", fontsize=9)
    plt.savefig(path, dpi=110)
    plt.close()


def photograph_report(path: Path) -> None:
    """Save a picture of the medoids on the page that `onebatchpam demo customers` writes, if there is a browser."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None or find_spec("selenium") is None:
        print(f"{path} is left as it is: chromium, chromedriver and selenium are not all installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        assert run_command(["demo", "customers", "--output", f"{folder}/demo", "--quiet"]) == 0
        photograph((Path(folder) / "demo" / "report.html").as_uri(), browser, driver, folder, path)
    print(path)


def photograph(page: str, browser: str, driver: str, profile: str, path: Path) -> None:
    """Save a picture of the part of a page that has the medoids; `profile` is where the browser keeps its files."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*BROWSER, "--window-size=1320,1400", f"--user-data-dir={profile}/profile"):
        options.add_argument(flag)
    chromium = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        chromium.get(page)
        chromium.execute_script(SHOW_MEDOIDS).screenshot(str(path))
    finally:
        chromium.quit()
