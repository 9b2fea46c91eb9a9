"""`onebatchpam demo`: data of some kind, made on the spot, and the command that clusters them."""

from __future__ import annotations

import argparse
import shlex
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onebatchpam._show import show_bytes, show_seconds
from onebatchpam.algorithms import OneBatchPAM
from onebatchpam.bounds import LowerBound
from onebatchpam.cli import cluster
from onebatchpam.cli.config import parse
from onebatchpam.cli.formats import arrow
from onebatchpam.cli.messages import Messages, UsageError
from onebatchpam.cli.outputs import check_new_folder, write_table


@dataclass(frozen=True)
class Demo:
    """Data to show, and the options with which to cluster them."""

    question: str
    file: str
    n: int
    k: int
    write: Callable[[Path, int], None]
    options: tuple[str, ...] = ()
    n_certified: int = 0  # rows of a smaller data set of the same kind, which shows how close to the optimum a fit is


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Make the data, and cluster them by the command that a user would type."""
    demo = DEMOS[arguments.name]
    n = demo.n if arguments.rows is None else arguments.rows
    if n < 1 or (arguments.name == "digits" and n != demo.n):
        raise UsageError(f"--rows {n}: expected {demo.n}" if n > 0 else f"--rows {n}: expected a positive number")
    output = arguments.output or Path(f"onebatchpam-{arguments.name}")
    check_new_folder(output, force=arguments.force)
    messages.say(demo.question)
    messages.say(f"All pairs of {n:,} rows would be {n * n:,} distances, {show_bytes(4 * n * n)}.\n")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / demo.file
        demo.write(file, n)
        options = ["-k", arguments.k or str(demo.k), *demo.options]
        messages.say(f"$ onebatchpam cluster {shlex.join([demo.file, *options])} -o {output}")
        typed = ["cluster", str(file), *options, "-o", str(output), *(["--force"] if arguments.force else [])]
        typed += [] if arguments.n_jobs is None else ["--n-jobs", str(arguments.n_jobs)]
        cluster.run(parse(typed), messages)
        if demo.n_certified:
            demo.write(file, demo.n_certified)
            messages.say(f"\nHow good is such a result? With {demo.n_certified:,} rows a proof takes a second:")
            messages.say(str(certify_file(file, demo.k, arguments.n_jobs)))
    messages.say(f"\nDone in {show_seconds(time.perf_counter() - began)}. Open this page in a browser:")
    print((output / "report.html").absolute().as_uri())


def certify_file(file: Path, k: int, n_jobs: int | None) -> LowerBound:
    """Cluster the rows of a file, and return the bound that says how far the result is from the optimum at most."""
    return OneBatchPAM(k, random_state=0, n_jobs=n_jobs).fit(str(file)).certify(str(file))


def write_addresses(path: Path, n: int) -> None:
    """Write the places of addresses in a made-up country: towns of all sizes, and farms between them."""
    rng = np.random.RandomState(0)
    n_towns = 400
    sizes = 1 / np.arange(1, n_towns + 1) ** 0.9  # as in real countries, few towns are large
    towns = np.column_stack([rng.uniform(0, 800, n_towns), rng.uniform(0, 500, n_towns)])
    town = rng.choice(n_towns, n, p=sizes / sizes.sum())
    spread = 25 * np.sqrt(sizes[town])[:, np.newaxis]
    places = towns[town] + rng.standard_normal((n, 2)) * spread
    is_farm = rng.uniform(size=n) < 0.12
    places[is_farm] = np.column_stack([rng.uniform(0, 800, is_farm.sum()), rng.uniform(0, 500, is_farm.sum())])
    columns = {"east_km": places[:, 0].astype(np.float32), "north_km": places[:, 1].astype(np.float32)}
    write_table(arrow().table(columns), path, "parquet")


def write_customers(path: Path, n: int) -> None:
    """Write customers of a shop: numbers, categories, dates and missing values, in five groups."""
    rng = np.random.RandomState(0)
    group = rng.choice(5, n, p=[0.35, 0.25, 0.2, 0.12, 0.08])

    def by_group(*values: Any) -> Any:
        return np.array(values)[group]

    plans = np.where(
        rng.uniform(size=n) < 0.85,
        by_group("basic", "family", "basic", "premium", "student"),
        rng.choice(["basic", "family", "premium", "student"], n),
    )
    channels = np.where(
        rng.uniform(size=n) < 0.8,
        by_group("app", "web", "shop", "web", "app"),
        rng.choice(["app", "web", "shop"], n),
    )
    income = np.round(np.exp(rng.normal(by_group(10.3, 10.8, 10.0, 11.5, 9.5), 0.25)), -2)
    days = np.maximum(0, rng.normal(by_group(900, 1500, 2900, 1200, 200), 250)).astype("timedelta64[D]")
    columns = {
        "customer_id": [f"C{i:06d}" for i in range(n)],
        "age": np.clip(rng.normal(by_group(34, 44, 66, 47, 21), by_group(8, 6, 7, 9, 2)), 18, 95).astype(int),
        "income": arrow().array(income, mask=rng.uniform(size=n) < 0.04),
        "orders_per_year": rng.poisson(by_group(9, 14, 3, 22, 6)),
        "basket": np.round(np.exp(rng.normal(by_group(3.4, 4.4, 3.7, 5.0, 2.7), 0.35)), 2),
        "plan": plans,
        "channel": channels,
        "children": rng.poisson(by_group(0.4, 2.1, 0.1, 0.8, 0.02)),
        "newsletter": rng.uniform(size=n) < by_group(0.3, 0.5, 0.75, 0.4, 0.15),
        "joined": np.datetime64("2026-01-01") - days,
    }
    write_table(arrow().table(columns), path, "csv")


CITIES = (
    "Amsterdam", "Athens", "Barcelona", "Belgrade", "Berlin", "Bratislava", "Brussels", "Bucharest", "Budapest",
    "Copenhagen", "Dublin", "Edinburgh", "Frankfurt", "Gothenburg", "Hamburg", "Helsinki", "Istanbul", "Krakow",
    "Lisbon", "Ljubljana", "London", "Luxembourg", "Madrid", "Manchester", "Marseille", "Munich", "Naples",
    "Oslo", "Paris", "Prague", "Reykjavik", "Riga", "Rotterdam", "Sarajevo", "Sofia", "Stockholm", "Tallinn",
    "Valencia", "Vienna", "Vilnius", "Warsaw", "Zagreb", "Zurich",
)  # fmt: skip


def write_words(path: Path, n: int) -> None:
    """Write names of cities as people type them, with slips of the keyboard."""
    rng = np.random.RandomState(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lines = []
    for city, n_slips in zip(rng.choice(CITIES, n), rng.poisson(0.6, n), strict=True):
        word = list(str(city))
        for _ in range(n_slips):
            place, slip = rng.randint(len(word)), rng.randint(4)
            if slip == 0:
                word[place] = str(rng.choice(letters))
            elif slip == 1:
                word.insert(place, str(rng.choice(letters)))
            elif slip == 2 and len(word) > 3:
                del word[place]
            elif place > 0:
                word[place - 1], word[place] = word[place], word[place - 1]
        lines.append("".join(word))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_digits(path: Path, n: int) -> None:
    """Write the handwritten digits that ship with scikit-learn."""
    from sklearn.datasets import load_digits

    np.save(path, load_digits().data.astype(np.uint8))


DEMOS = {
    "addresses": Demo(
        "Where should 40 depots stand, so that half a million addresses are as near to one as possible?",
        "addresses.parquet",
        500_000,
        40,
        write_addresses,
        n_certified=3_000,
    ),
    "customers": Demo(
        "Which customers are typical? A table with numbers, categories, dates and missing values.",
        "customers.csv",
        50_000,
        5,
        write_customers,
    ),
    "digits": Demo(
        "Which pictures stand for all? Handwritten digits, by the sum of the differences of pixels.",
        "digits.npy",
        1_797,
        10,
        write_digits,
        ("--metric", "manhattan", "--show-as", "8x8", "--certify", "10"),
    ),
    "words": Demo(
        "What did they mean? Names of 43 cities as people type them, by the number of slips.",
        "cities.txt",
        20_000,
        43,
        write_words,
    ),
}
