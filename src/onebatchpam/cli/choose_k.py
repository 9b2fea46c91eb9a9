"""`onebatchpam choose-k`: a table of several numbers of clusters, and which of them is suggested."""

from __future__ import annotations

import argparse

from onebatchpam._optional import require
from onebatchpam.cli.inputs import read_input
from onebatchpam.cli.messages import Messages, UsageError
from onebatchpam.cli.methods import check_method, keep_possible, make_estimator, parse_numbers
from onebatchpam.cli.outputs import as_json, check_new_file, new_file
from onebatchpam.evaluation import select_k


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Compare several numbers of clusters."""
    ks = parse_numbers(arguments.k or "2:20")
    check_method(arguments, ks[0])
    if arguments.plot is not None:
        check_new_file(arguments.plot, force=arguments.force, source=arguments.file)
        if arguments.plot.suffix not in (".png", ".svg", ".pdf"):
            raise UsageError(f"--plot {arguments.plot}: expected a png, svg or pdf file")
        require("matplotlib", extra="plot", needed_by="--plot").use("agg")
    data = read_input(arguments, messages)
    ks = keep_possible(ks, data.n)
    selection = select_k(data.X, ks, make_estimator(arguments, data, ks[0], messages), sample_weight=data.weights)
    if arguments.json:
        names = ("k", "inertia", "silhouette", "seconds")
        table = {name: getattr(selection, name) for name in names}
        print(as_json({**table, "suggested_k": selection.suggested_k, "advice": selection.advice()}))
    else:
        print(selection)
    if arguments.plot is not None:
        with new_file(arguments.plot, force=arguments.force, source=arguments.file) as path:
            selection.plot().figure.savefig(path, format=arguments.plot.suffix[1:], dpi=150)
        messages.say(f"written: {arguments.plot}")
