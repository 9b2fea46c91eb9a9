"""`python -m bench pages`: the tables of docs/ from the records in bench/results.

A page has a table between `<!-- records: NAME -->` and `<!-- end -->`; `BLOCKS` says by which function a name is made.
With `--check` nothing is written, and a page that differs is an error.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from bench.measure.machine import name_instructions
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.table import CONTESTANTS
from bench.report import paper
from bench.report.figures import find_front, list_points
from bench.report.intervals import compare
from bench.report.report import read_scores
from bench.report.scores import Scores
from bench.report.tables import average, choose_datasets, draw_markdown
from bench.studies import alternatives, bandit, beyond, complexity, counts, limits, representatives, theorem

DOCS = Path(__file__).parents[2] / "docs"
MARK = re.compile(r"(<!-- records: ([\w -]+) -->\n).*?(<!-- end -->)", re.DOTALL)
FRONT_KS = (10, 100)
# Spaces at which "1.2 % (0.5 to 2.0)", "1.7 (0.5)" or "3 ± 1" would be broken into lines, and what takes their place.
WITHIN_FIGURES = re.compile(r"(?<=\d) (?=%|±|to |\()|(?<=±) (?=\d)|(?<=to) (?=[−\d])|(?<=%) (?=\()")
NO_BREAK = "\u00a0"
NOT_MEASURED = "Not measured yet.\n"


@cache
def open_scores(name: str, reference: str | None = None, time: str = "call") -> Scores:
    return read_scores(Store(RESULTS, name), reference, time)


def show(value: float) -> str:
    """Return a percentage with as many digits as mean something."""
    if pd.isna(value):
        return ""
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 0.995 else 2
    text = f"{value:,.{decimals}f}".replace("-", "−")
    return "0" if not text.strip("−0.") else text


def show_range(least: float, largest: float) -> str:
    return "" if pd.isna(least) or pd.isna(largest) else f"{show(least)} to {show(largest)}"


def show_spread(mean: float, std: float) -> str:
    """Return a mean, with its standard deviation in brackets if that is known."""
    return show(mean) if pd.isna(std) else f"{show(mean)} ({show(std)})"


def name_method(method: str) -> str:
    """Return a method's name, in code if it is that of a package."""
    package = CONTESTANTS[method].package
    return f"`{package}`{method.removeprefix(package)}" if method.startswith(package) else method


def name_row(method: str, own: pd.Series, whole: pd.DataFrame) -> str:
    """Return a method's name, with the number of its cases and seeds where others have more."""
    n_cases, n_seeds = whole["cases"].max(), whole["seeds"].max()
    notes = [f"{own['cases']:.0f} of {n_cases:.0f}"] if own["cases"] < n_cases else []
    notes += [f"{own['seeds']:.0f} seed{'s' if own['seeds'] > 1 else ''}"] if own["seeds"] < n_seeds else []
    return name_method(method) + (f" ({', '.join(notes)})" if notes else "")


# Blocks


def compare_with_paper(name: str) -> pd.DataFrame:
    """Return averages over the cases with intervals and ranges, and the paper's beside them if there are any.

    In brackets is the standard deviation over the seeds, averaged over the cases as in the paper. It is that of ΔRO
    relative to the mean of the reference, so that the reference itself has one.
    """
    scores = open_scores(name)
    scope = choose_datasets(scores)
    objective, time = (compare(scores, measure, scope, scores.ks) for measure in ("paired_delta_ro", "rt"))
    spreads = {measure: average(scores, scope, scores.ks, measure) for measure in ("delta_ro", "rt")}
    has_intervals, has_paper = objective["low"].notna().any(), spreads["rt"]["paper mean"].notna().any()
    rows = {}
    for method, own in objective.iterrows():
        spread, time_spread, own_time = spreads["delta_ro"].loc[method], spreads["rt"].loc[method], time.loc[method]
        row = {"ΔRO": show_spread(own["mean"], spread["std"])}
        if has_intervals:
            row["95 % interval"] = show_range(own["low"], own["high"])
        row["cases"] = show_range(own["least"], own["largest"])
        if has_paper:
            row["paper"] = show_spread(spread["paper mean"], spread["paper std"])
        row["RT"] = show_spread(own_time["mean"], time_spread["std"])
        row["cases "] = show_range(own_time["least"], own_time["largest"])
        if has_paper:
            row["paper "] = show_spread(time_spread["paper mean"], time_spread["paper std"])
        rows[name_row(method, own, objective)] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("")


def describe_machines(name: str) -> str:
    """Return a line on the machines that made the records of an experiment, and the threads that a method had."""
    machines = {
        f"{machine['cpu']} with {name_instructions(machine['simd'])}, processors: {machine['processors']}, "
        f"memory: {machine['memory_bytes'] / 2**30:.0f} GiB, threads of each method: {record['threads']}"
        for record in Store(RESULTS, name).read().values()
        for machine in [record["machine"]]
    }
    return f"Machine: {'; or '.join(sorted(machines))}.\n"


def compare_dataset(scale: str, dataset: str) -> pd.DataFrame:
    """Return the paper's appendix for a data set: averages over k, with standard deviations, ours and the paper's."""
    scores = open_scores(scale)
    found = {measure: average(scores, [dataset], scores.ks, measure) for measure in ("delta_ro", "rt")}
    rows = {
        method: {
            f"{heading}{whose}": show_spread(entries.loc[method, f"{kind}mean"], entries.loc[method, f"{kind}std"])
            for heading, entries in (("ΔRO", found["delta_ro"]), ("RT", found["rt"]))
            for whose, kind in (("", ""), (", the paper", "paper "))
        }
        for method in scores.methods
        if CONTESTANTS[method].kind == "paper" and found["rt"].loc[method, "cells"] > 0
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("")


def compare_with_all_pairs() -> pd.DataFrame:
    """Return averages over k relative to FasterPAM for the large data sets on which it compares all pairs."""
    scores = open_scores("large", "FasterPAM")
    found = {
        f"{label}, {dataset}": average(scores, [dataset], scores.ks, measure)
        for dataset in ALL_PAIRS
        for measure, label in (("delta_ro", "ΔRO"), ("rt", "RT"))
    }
    rows = {
        name_method(method): {
            column: show_spread(*entries.loc[method, ["mean", "std"]]) for column, entries in found.items()
        }
        for method in scores.methods
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("")


def compare_memory() -> pd.DataFrame:
    """Return the peak memory with k = 100 on the small data sets, by their numbers of rows."""
    scores = open_scores("small")
    rows_of = {run.dataset: record["n_rows"] for run, record in scores.records.items() if record["status"] == "ok"}
    peaks = scores.pick(scores.datasets, [100])["peak_bytes"].droplevel("k")
    table = {
        f"{dataset}, n = {n:,}": {method: f"{peaks[dataset, method] / 1e6:,.0f} MB" for method in HOLDING}
        for dataset, n in sorted(rows_of.items(), key=lambda pair: pair[1])
    }
    return pd.DataFrame(table).rename_axis("method")


def compare_objectives() -> pd.DataFrame:
    """Return the ΔRO of the methods that the paper makes statements about, beside its own."""
    scores = open_scores("small")
    ours = compare(scores, "paired_delta_ro", scores.datasets, scores.ks)
    published = average(scores, scores.datasets, scores.ks, "delta_ro")["paper mean"]
    rows = {}
    for method in STATED:
        own = ours.loc[method]
        interval = f"{show(own['mean'])} ({show_range(own['low'], own['high'])})"
        rows[method] = {"the paper": show(published[method]), "ours (95 % interval)": interval}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ΔRO, in %")


def compare_by_case(name: str, labels: dict[str, str], *, per_dataset: bool = True) -> pd.DataFrame:
    """Return the paired ΔRO over all cases with its interval, for each k, and for each data set."""
    scores = open_scores(name)
    parts = {f"k = {k}": (scores.datasets, [k]) for k in scores.ks}
    if per_dataset:
        parts |= {dataset: ([dataset], scores.ks) for dataset in scores.datasets}
    found = {part: compare(scores, "paired_delta_ro", *scope)["mean"] for part, scope in parts.items()}
    whole = compare(scores, "paired_delta_ro", scores.datasets, scores.ks)
    rows = {
        label: {
            "all (95 % interval)": f"{show(own['mean'])} ({show_range(own['low'], own['high'])})",
            **{part: show(means[method]) for part, means in found.items()},
        }
        for method, label in labels.items()
        for own in [whole.loc[method]]
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ΔRO, in %")


def compare_on_mnist() -> pd.DataFrame:
    """Return the paired ΔRO on all rows of mnist, and the range of the seconds, for each k."""
    scores = open_scores("mnist")
    objective = {k: compare(scores, "paired_delta_ro", scores.datasets, [k])["mean"] for k in scores.ks}
    seconds = scores.runs.groupby(["method", "k"])["seconds"]
    ranges = {"least": seconds.min(), "largest": seconds.max()}
    rows = {
        label: {f"ΔRO, k = {k}": f"{objective[k][method]:.2f} %".replace("-", "−") for k in scores.ks}
        | {f"seconds, k = {k}": " to ".join(f"{each[method, k]:.1f}" for each in ranges.values()) for k in scores.ks}
        for method, label in MNIST.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("mnist")


def compare_growth(abscissa: str, **fixed: int) -> pd.DataFrame:
    """Return ΔRO, and how many times as fast as FasterPAM the methods of Figure 1 are, as n or k grows on mnist."""
    cells = open_scores("figure1").cells.reset_index()
    ((name, value),) = fixed.items()
    cells = cells[cells[name] == value].set_index([abscissa, "method"]).sort_index()
    rows = {
        f"{size:,.0f}": {
            method: f"{show(own['delta_ro'])} %, {show(100 / own['rt'])}×" if pd.notna(own["rt"]) else ""
            for method in GROWING
            for own in [cells.reindex([(size, method)]).iloc[0]]
        }
        for size in cells.index.unique(abscissa)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(abscissa)


def compare_speed_ups() -> pd.DataFrame:
    """Return by which factor OneBatchPAM-nniw is faster than FasterPAM, ours and that of the package kmedoids."""
    references = {"FasterPAM": "our FasterPAM", "kmedoids FasterPAM": "FasterPAM of `kmedoids`"}
    columns = {}
    for reference, label in references.items():
        scores = open_scores("small", reference)
        parts = {"all five": scores.datasets} | {name: [name] for name in scores.datasets}
        columns[f"ours, to {label}"] = {
            part: 100 / compare(scores, "rt", scope, scores.ks).loc["OneBatchPAM-nniw", "mean"]
            for part, scope in parts.items()
        }
    published = {
        part: 100 / paper.find_figures("small", scope, "rt").loc["OneBatchPAM-nniw", "mean"]
        for part, scope in parts.items()
    }
    factors = pd.DataFrame({"the paper": published, **columns}).rename_axis("data")
    return factors.map("{:.1f}".format)


def count_fronts(name: str) -> pd.DataFrame:
    """Return in how many Pareto fronts each row of the paper is, with the time of the selection alone."""
    scores = open_scores(name, time="selection")
    whole = [dataset for dataset in scores.datasets if dataset in choose_datasets(scores)]
    fronts = {}
    for dataset in whole:
        for k in FRONT_KS:
            points = [point for point in list_points(scores, dataset, k) if CONTESTANTS[point[2]].kind == "paper"]
            fronts[dataset, k] = [method for _, _, method in find_front(points)]
    counts = {
        method: {
            f"fronts of {len(fronts)}": sum(method in front for front in fronts.values()),
            **{dataset: ", ".join(f"k = {k}" for k in FRONT_KS if method in fronts[dataset, k]) for dataset in whole},
        }
        for method in scores.methods
        if any(method in front for front in fronts.values())
    }
    return pd.DataFrame.from_dict(counts, orient="index").rename_axis("method")


def show_representatives(measure: str) -> str:
    """Return a table of the study of representatives."""
    records = list(Store(RESULTS / "representatives", "representatives").read().values())
    methods = [each.name for each in representatives.SELECTORS]
    others = {"objective": representatives.compare, "seconds": representatives.gather_seconds}
    values = others[measure](records) if measure in others else representatives.gather(records, measure, 100)
    return representatives.make_table("", values, methods).split("\n\n", 1)[1] + "\n"


def show_complexity(tabulate: Callable[[pd.DataFrame], pd.DataFrame | str]) -> pd.DataFrame | str:
    """Return a table of the study of complexity."""
    return tabulate(complexity.make_frame(Store(RESULTS / "complexity", "complexity").read()))


def show_seconds(frame: pd.DataFrame) -> pd.DataFrame | str:
    """Return the exponents of seconds; these take an idle machine, so that counts may be there alone."""
    return complexity.tabulate(frame, "seconds") if frame["seconds"].notna().any() else NOT_MEASURED


def show_theorem() -> pd.DataFrame:
    """Return the table of the study of Theorem 1."""
    return theorem.tabulate(Store(RESULTS / "theorem", "theorem").read())


def show_counts(tabulate: Callable[[dict[Run, Record]], pd.DataFrame]) -> pd.DataFrame:
    """Return a table of the study of counts."""
    return tabulate(Store(RESULTS / "counts", "counts").read())


def show_growth_of_counts() -> pd.DataFrame:
    """Return the exponents in n of the dissimilarities of Figure 1, without the labels, over all n and the larger."""
    runs = open_scores("figure1").runs
    runs = runs[(runs["k"] == FIGURE_K) & runs["n_distances"].notna()]
    rows = {}
    for method in ("FasterPAM", *GROWING[:-1]):
        own = runs[runs["method"] == method]
        labels = own["n"] * own["k"] if CONTESTANTS[method].labels_last else 0
        row = {}
        for least in FIGURE_LEAST:
            chosen = own["n"] >= least
            slope, half = complexity.fit_exponent(own["n"][chosen], (own["n_distances"] - labels)[chosen])
            row[f"n = {least:,} to {own['n'].max():,.0f}"] = f"{slope:.2f} ± {half:.2f}"
        rows[method] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("exponent in n")


def compare_bandit() -> pd.DataFrame:
    """Return the ΔRO and RT of BanditPAM++ on small data, beside the paper's."""
    scores = open_scores("small")
    ours = {each: compare(scores, each, scores.datasets, scores.ks)["mean"] for each in ("paired_delta_ro", "rt")}
    published = {each: average(scores, scores.datasets, scores.ks, each)["paper mean"] for each in ("delta_ro", "rt")}
    rows = {
        method: {
            "ΔRO, the paper": show(published["delta_ro"][method]),
            "ΔRO": show(ours["paired_delta_ro"][method]),
            "times FasterPAM's, the paper": f"{published['rt'][method] / 100:.1f}",
            "times FasterPAM's": f"{ours['rt'][method] / 100:.1f}",
        }
        for method in (f"BanditPAM++-{swaps}" for swaps in bandit.SWAPS)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("")


def compare_large_variants() -> pd.DataFrame:
    """Return the paired ΔRO of the unweighted variants to OneBatchPAM-nniw on large data, by k and for k = 100."""
    scores = open_scores("large")
    datasets = choose_datasets(scores)
    parts = {"all": (datasets, scores.ks), "k = 10": (datasets, [10]), "k = 100": (datasets, [100])}
    parts |= {f"{dataset}, k = 100": ([dataset], [100]) for dataset in datasets if dataset in APPENDIX}
    found = {part: compare(scores, "paired_delta_ro", *scope)["mean"] for part, scope in parts.items()}
    rows = {
        label: {part: show(means[method]) for part, means in found.items()}
        for method, label in VARIANTS.items()
        if method != scores.reference
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ΔRO, in %")


def show_bandit() -> pd.DataFrame:
    """Return the table of BanditPAM++, ours and its authors'."""
    return bandit.tabulate(Store(RESULTS, bandit.NAME).read())


def show_beyond() -> pd.DataFrame:
    """Return the table of the algorithms that the paper does not have."""
    return beyond.tabulate(Store(RESULTS / "beyond", "beyond").read())


def show_alternatives(name: str) -> pd.DataFrame | str:
    """Return a table of the study of alternatives, which takes an idle machine for hours."""
    records = Store(RESULTS / "alternatives", "alternatives").read()
    return alternatives.tabulate(records, name) if records else NOT_MEASURED


def show_limits() -> pd.DataFrame:
    """Return where each method of the study of limits ends."""
    return limits.tabulate_ends(Store(RESULTS / "limits", "limits").read())


ABLATION = {
    "OneBatchPAM-unif": '`"unif", refine=0`',
    "OneBatchPAM-debias": '`"debias", refine=0`',
    "OneBatchPAM-nniw": '`"nniw", refine=0` (the paper)',
    "progressive": '`"progressive", refine=0`',
    "progressive, 1 round": '`"progressive", refine=1`',
    "unif, refined": '`"unif"`, refined',
    "debias, refined": '`"debias"`, refined',
    "nniw, refined": '`"nniw"`, refined',
    "progressive, refined": '`"progressive"`, refined',
    "progressive, refined, 2 starts": '`"progressive"`, refined, `n_init=2`',
    "progressive, refined, 3 starts": '`"progressive"`, refined, `n_init=3`',
    "OneBatchPAM (default)": "default",
}
WEIGHTS = {
    method: ABLATION[method]
    for method in (
        *("OneBatchPAM-debias", "OneBatchPAM-nniw", "progressive"),
        *("debias, refined", "nniw, refined", "progressive, refined"),
    )
}
REFINE = {
    "OneBatchPAM-nniw": '`variant="nniw", refine=0` (the paper)',
    "progressive": "`refine=0` (progressive)",
    "progressive, refined": "one start, never all rows",
    "OneBatchPAM (default)": "default",
    "OneBatchPAM, 3 starts": "`n_init=3`",
}
MNIST = {
    "FasterPAM": "`FasterPAM`",
    "OneBatchPAM-nniw": '`variant="nniw", refine=0` (the paper)',
    "progressive, refined": '`effort="fast"` (one start)',
    "OneBatchPAM (default)": "default (two starts)",
    "OneBatchPAM, 3 starts": "`n_init=3`",
    "OneBatchPAM, 3000 points, 3 starts": "`batch_size=3000, n_init=3`",
    "OneBatchPAM, 4000 points, 3 starts": "`batch_size=4000, n_init=3`",
}
STATED = (
    *("OneBatchPAM-nniw", "OneBatchPAM-debias", "OneBatchPAM-unif", "OneBatchPAM-lwcs (as published)"),
    *("OneBatchPAM-lwcs", "FasterCLARA-5", "k-means++", "OneBatchPAM (default)"),
)
VARIANTS = {f"OneBatchPAM-{variant}": f"OneBatchPAM-{variant}" for variant in ("unif", "debias", "nniw")}
GROWING = ("k-means++", "FasterCLARA-5", "BanditPAM++-2", "OneBatchPAM-nniw", "OneBatchPAM (default)")
FIGURE_K, FIGURE_LEAST = 10, (2_500, 10_000)
HOLDING = ("FasterPAM", "OneBatchPAM-nniw", "OneBatchPAM (default)", "BanditPAM++-5")
ALL_PAIRS = ("cifar", "mnist")
APPENDIX = {
    **dict.fromkeys(("abalone", "bankruptcy", "mapping", "drybean", "letter"), "small"),
    **dict.fromkeys(("cifar", "mnist", "dota2", "covertype"), "large"),
}
MACHINES = ("small", "large", "euclidean", "figure1", "bandit")
BLOCKS: dict[str, Callable[[], pd.DataFrame | str]] = {
    **{name: partial(compare_with_paper, name) for name in ("small", "large", "euclidean")},
    "objectives": compare_objectives,
    "refine": partial(compare_by_case, "refine", REFINE),
    "ablation": partial(compare_by_case, "ablation", ABLATION),
    "weights": partial(compare_by_case, "weights", WEIGHTS),
    "mnist": compare_on_mnist,
    "growth n": partial(compare_growth, "n", k=10),
    "growth k": partial(compare_growth, "k", n=10_000),
    "all pairs": compare_with_all_pairs,
    "memory": compare_memory,
    "variants": partial(compare_by_case, "small", VARIANTS, per_dataset=False),
    **{f"machine {name}": partial(describe_machines, name) for name in MACHINES},
    **{f"appendix {dataset}": partial(compare_dataset, scale, dataset) for dataset, scale in APPENDIX.items()},
    "speed-ups": compare_speed_ups,
    "fronts small": partial(count_fronts, "small"),
    "fronts large": partial(count_fronts, "large"),
    "complexity": partial(show_complexity, partial(complexity.tabulate, measure="n_distances")),
    "complexity seconds": partial(show_complexity, show_seconds),
    "swaps": partial(show_complexity, complexity.tabulate_swaps),
    "theorem": show_theorem,
    "counts batch": partial(show_counts, counts.tabulate_batch),
    "counts swaps": partial(show_counts, counts.tabulate_swaps),
    "counts passes": partial(show_counts, counts.tabulate_passes),
    "counts figure": show_growth_of_counts,
    "bandit small": compare_bandit,
    "variants large": compare_large_variants,
    "bandit": show_bandit,
    "beyond": show_beyond,
    "limits": show_limits,
    **{f"alternatives {name}": partial(show_alternatives, name) for name in alternatives.TABLES},
    **{
        f"representatives {name}": partial(show_representatives, name)
        for name in ("nearest", "logistic", "objective", "seconds")
    },
}


# Pages


def draw_block(name: str) -> str:
    """Return a table in Markdown; the empty lines around it keep it apart from the comments."""
    table = BLOCKS[name]()
    text = table if isinstance(table, str) else draw_markdown(table)
    return f"\n{WITHIN_FIGURES.sub(NO_BREAK, text)}\n"


def fill(text: str) -> str:
    """Return a page with its tables made anew."""
    return MARK.sub(lambda found: f"{found[1]}{draw_block(found[2])}{found[3]}", text)


def run(arguments: argparse.Namespace) -> None:
    """Write the tables of all pages, or check them."""
    for page in sorted(arguments.folder.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        made = fill(text) if MARK.search(text) else text
        if made == text:
            continue
        if arguments.check:
            raise FileNotFoundError(f"the tables of {page} are not those of the records: run `python -m bench pages`")
        page.write_text(made, encoding="utf-8")
        print(page)


def add_command(commands: Any) -> None:
    """Add `pages` to the command line."""
    parser = commands.add_parser("pages", help="write the tables of docs/ from the records")
    parser.add_argument("--check", action="store_true", help="write nothing; a page that differs is an error")
    parser.add_argument("--folder", type=Path, default=DOCS, help="the pages (%(default)s)")
    parser.set_defaults(run=run)
