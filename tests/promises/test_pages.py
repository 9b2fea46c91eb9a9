"""The code in the README and the docs runs, and prints what the pages show.

The `python` blocks of a page run one after the other, in one namespace and in a folder of their own. An `output` block
holds exactly what the block before it prints, except for seconds; `...` stands for anything. What pages take for
granted, such as `X` or a file `rows.npy`, is made by `make_given`. A block that cannot run stands below a comment that
says why: `<!-- skip: next "needs a cluster" -->`; code for shells is `bash`. Where a package is missing, the rest of
the page runs, and the test is skipped.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import unittest
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from onebatchpam import OneBatchPAM

h5py = pytest.importorskip("h5py")
sybil = pytest.importorskip("sybil")
markdown = pytest.importorskip("sybil.parsers.markdown")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {DOCS / "api", DOCS / "gallery"}
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if not GENERATED & set(page.parents))]
OPTIONAL = {"aeon", "faiss", "imblearn"}  # packages that pages show, and that may be missing
SECONDS = re.compile(r"\d+\.\d{3}$", re.MULTILINE)  # three decimals at the end of a line
LANGUAGES = {"", "python", "output", "bash", "text", "bibtex", "toml"}  # others may be misspelt, and not be run


def run_code(example):
    """Run a block of Python and keep what it prints."""
    printed = io.StringIO()
    lines = "\n" * (example.line + example.parsed.line_offset)  # a traceback then has the lines of the page
    code = compile(lines + example.parsed, example.path, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, example.namespace)
        except ModuleNotFoundError as error:
            package = error.name.partition(".")[0]
            if package not in OPTIONAL:
                raise
            example.namespace["_missing"].add(package)
    example.namespace["_printed"] = printed.getvalue()


def compare_output(example):
    """Compare an `output` block with what the block before it has printed."""
    printed, shown = example.namespace.pop("_printed").rstrip(), example.parsed.rstrip()
    pattern = ".*".join(map(re.escape, SECONDS.sub("...", shown).split("...")))
    assert printed == shown or re.fullmatch(pattern, printed, re.DOTALL)


PARSERS = [
    markdown.CodeBlockParser("python", run_code),
    markdown.CodeBlockParser("output", compare_output),
    markdown.SkipParser(),
]


@dataclass(frozen=True)
class Cells:
    """As much of an AnnData object as pages use."""

    obsm: dict
    obs: pd.DataFrame

    @property
    def obs_names(self):
        return self.obs.index

    def __getitem__(self, rows):
        return Cells({name: values[rows] for name, values in self.obsm.items()}, self.obs.iloc[rows])

    def copy(self):
        return Cells(dict(self.obsm), self.obs.copy())


def make_cells(rng):
    """Return cells with principal components and the clusters of Leiden."""
    obs = pd.DataFrame({"leiden": pd.Categorical(rng.choice(["0", "1", "2"], 2100))}, index=np.arange(2100).astype(str))
    return Cells({"X_pca": rng.normal(size=(2100, 8))}, obs)


def make_given(folder):
    """Write the files that pages name into a folder, and return the names that they take for granted."""
    for path in (ROOT / "examples").glob("*.fasta"):
        shutil.copy(path, folder)
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    embeddings = rng.normal(size=(1600, 8)).astype(np.float32)
    for name, array in (("rows", X), ("new_rows", X[:100]), ("embeddings", embeddings)):
        np.save(folder / f"{name}.npy", array)
    pd.DataFrame(X[:100]).rename(columns=str).to_parquet(folder / "new_rows.parquet")
    items = pd.DataFrame({"id": np.arange(1600), "title": "item", "embedding": list(embeddings)})
    items.to_parquet(folder / "items.parquet")
    customers = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "spent": rng.gamma(2.0, 50.0, 300).round(2),
            "grade": pd.Categorical(rng.choice(["a", "b", "c"], 300), ordered=True),
            "plan": rng.choice(["free", "basic", "full"], 300),
            "city": rng.choice(["Oslo", "Rome", "Lima"], 300),
        }
    )
    customers.to_csv(folder / "customers.csv", index=False)
    customers.to_parquet(folder / "customers.parquet")
    with h5py.File(folder / "rows.h5", "w") as file:
        file["X"] = X
    words = ["".join(rng.choice(list("abcde"), rng.integers(3, 9))) for _ in range(400)]
    series = [np.sin(np.linspace(0, rng.uniform(3, 9), rng.integers(10, 20))) for _ in range(30)]
    return {
        "OneBatchPAM": OneBatchPAM,
        "X": X,
        "y": y,
        "embeddings": embeddings,
        "frame": customers,
        "customers": customers,
        "words": words,
        "names": words,
        "documents": words * 4,
        "topic_model": SimpleNamespace(fit_transform=lambda texts, _: (rng.integers(-1, 9, len(texts)).tolist(), None)),
        "adata": make_cells(rng),
        "list_of_series": series,
        "model": OneBatchPAM(n_clusters=10, random_state=0).fit(X),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    document = sybil.Sybil(PARSERS).parse(page)
    examples = list(document.examples())
    if examples:
        monkeypatch.chdir(tmp_path)
        document.namespace.update(make_given(tmp_path), _missing=set())
    for example in examples:
        with warnings.catch_warnings(), contextlib.suppress(unittest.SkipTest):  # by which sybil leaves out a block
            warnings.simplefilter("ignore", category=UserWarning)  # pages may show what is warned of
            example.evaluate()
    if missing := document.namespace.get("_missing"):
        pytest.skip(f"not all code was run: {', '.join(sorted(missing))} is not installed")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_is_in_another_language(page):
    fences = re.findall(r"^ *```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    opened = {fence for fence in fences[::2] if not fence.startswith("{")}  # directives of the site are in braces
    assert opened <= LANGUAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_taken_for_a_comment(page):
    assert not re.search(r"^\s*%", page.read_text(encoding="utf-8"), re.MULTILINE)  # the site would leave it out


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < 700


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_somewhere(name):  # those in docs/ are checked when the site is built
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / name).read_text(encoding="utf-8"))
    files = [re.sub(r"^https://.*/(blob|raw)/main/", "", link) for link in links]  # those of the repository itself
    assert all((ROOT / file).exists() for file in files if not file.startswith("https://"))
