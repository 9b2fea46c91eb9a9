"""`onebatchpam estimate`: what a fit would cost, before one waits for it."""

from __future__ import annotations

import argparse

from onebatchpam.cli.inputs import read_input
from onebatchpam.cli.messages import Messages
from onebatchpam.cli.methods import check_method, method_options, parse_number
from onebatchpam.cli.outputs import as_json
from onebatchpam.evaluation import estimate_cost

SAMPLED_ROWS = 2_000  # rows on which the speed is measured


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Say what a fit would cost."""
    k = parse_number(arguments.k)
    check_method(arguments, k)
    data = read_input(arguments, messages)
    options = {name: value for name, value in method_options(arguments).items() if name != "random_state"}
    cost = estimate_cost(
        data.n,
        None,
        k,
        metric=data.metric,
        metric_params=data.metric_params,
        sample=data.head(SAMPLED_ROWS),
        **options,
    )
    print(as_json(cost.as_dict()) if arguments.json else cost)
