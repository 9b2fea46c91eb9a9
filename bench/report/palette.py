"""One colour for this package in all pictures, others for what it is compared with, and markers beside the colours.

The examples have the same colours.
"""

from __future__ import annotations

from typing import Any

OURS = "#1f6f43"  # green: this package, its default first of all
BLUE, ORANGE, PURPLE, BROWN, PINK, GRAY = "#4c72b0", "#dd8452", "#8172b3", "#937860", "#d17ab0", "#7f7f7f"
PALE = "#6fb98f"  # this package in other settings

KINDS = {"paper": BLUE, "ours": OURS, "peer": GRAY}  # of methods: a row of the paper, ours beyond it, of others

STYLES = {  # what the name of a method begins with, its colour and its marker; the first that fits counts
    "OneBatchPAM-": (PALE, "P"),
    "OneBatchPAM, n_init": (PALE, "P"),
    "OneBatchPAM, fast": (OURS, "<"),
    "OneBatchPAM, balanced": (OURS, ">"),
    "OneBatchPAM, best": (OURS, "*"),
    "OneBatchPAM": (OURS, "o"),
    "onebatchpam": (OURS, "o"),
    "FasterPAM": (BLUE, "s"),
    "kmedoids": (ORANGE, "D"),
    "FasterCLARA": (BROWN, "v"),
    "k-means++": (PURPLE, "^"),
    "BanditPAM": (PINK, "X"),
    "scikit-learn-extra": (PURPLE, "^"),
    "average linkage": (BROWN, "v"),
    "apricot": (PINK, "X"),
}


def style_of(method: str) -> dict[str, Any]:
    """Return the colour and the marker of a method, as matplotlib takes them."""
    colour, marker = next((STYLES[name] for name in STYLES if method.startswith(name)), (GRAY, "o"))
    return {"color": colour, "marker": marker}
