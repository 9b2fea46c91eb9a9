"""How Sphinx builds the site: `nox -s docs`, or `sphinx-build docs build/site` where the group `docs` is installed."""

from __future__ import annotations

import argparse
import builtins
import inspect
import pydoc
import re
import textwrap
import warnings
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

import onebatchpam
import onebatchpam.dask
from onebatchpam.cli import parser as command_line

project = "onebatchpam"
author = "The onebatchpam developers"
project_copyright = author
version = release = onebatchpam.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*.py", "gallery/*.ipynb"]
linkcheck_ignore = ["(?!https?:)"]  # links within the site are tested on the finished pages
suppress_warnings = ["config.cache"]  # the configuration of the gallery holds functions
templates_path = ["_templates"]
highlight_language = "none"  # of blocks without a language
default_role = "py:obj"  # names in docstrings become links where there is something to link to
toc_object_entries_show_parents = "hide"
smartquotes = False  # the quotes of `default="euclidean"` are code


def list_properties(name: str) -> list[str]:
    """Return the properties of a class, which the docstring of the class does not describe."""
    return [name for name, value in vars(pydoc.locate(name)).items() if isinstance(value, property)]


myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autosummary_generate = True
autosummary_context = {"properties_of": list_properties}
autodoc_typehints = "none"  # the docstrings have the types
numpydoc_show_class_members = False  # the template of classes lists the methods
copybutton_exclude = ".linenos, .gp, .go"

warnings.filterwarnings("ignore", "unsafe cast from uint64 to int64")  # of numba, in aeon; an example would show it

HERE = Path(__file__).parent
# Examples that are shown, but not run: one starts processes that import it; some need a package that may be missing.
NOT_RUN = ["dask_cluster"]
if find_spec("aeon") is None:
    NOT_RUN += ["plot_no_mean_exists", "time_series"]
    logging.getLogger(__name__).warning("examples are not run because aeon is not installed: it needs Python < 3.14")
# The sections of the gallery; in each, what is worth seeing first comes first.
GALLERY = {
    "What medoids are good for": (
        *("plot_mean_is_nobody", "plot_label_few", "plot_no_mean_exists"),
        *("plot_where_all_pairs_end", "plot_one_batch"),
    ),
    "Your kind of data": (
        *("plot_typical_patients", "mixed_table", "words", "sequences", "time_series"),
        *("sparse_text", "custom_metric"),
    ),
    "Many rows": ("what_it_costs", "rows_on_disk", "precomputed_memmap", "sample_weight", "dask_cluster"),
    "Questions to a clustering": (
        *("choose_k", "representatives", "rows_that_fit_badly", "medoids_of_hdbscan"),
        *("fixed_medoids", "min_cluster_size", "report"),
    ),
}
SHOWN = [name for names in GALLERY.values() for name in names]


def order_of(path: str) -> int:
    """Return the place of an example in the gallery."""
    return SHOWN.index(Path(path).stem)


def tell_place(configuration: object, path: str | None) -> None:
    """Let an example find files beside it, as when it is run as a script: the gallery does not define `__file__`."""
    builtins.__file__ = str(HERE.parent / "examples" / Path(path or "").name)  # type: ignore[attr-defined]


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/(?!{'|'.join(NOT_RUN)})\w+\.py$",
    "default_thumb_file": str(HERE / "_static" / "medoid.png"),
    "within_subsection_order": order_of,
    "minigallery_sort_order": order_of,
    "doc_module": ("onebatchpam",),  # its pages show the examples that use a name
    "backreferences_dir": "gallery/uses",
    "reset_modules": ("matplotlib", tell_place),
    "matplotlib_animations": (True, "jshtml"),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "onebatchpam"
html_static_path = ["_static"]
html_favicon = "_static/medoid.png"
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "onebatchpam", "image_light": "_static/medoid.png", "image_dark": "_static/medoid.png"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}


# The functions of the reference, by what they are for.
FUNCTIONS = {
    "Selections": ("select_representatives", "select_k", "medoids_of", "swap_search"),
    "How good a result is": ("lower_bound", "medoid_silhouette", "cluster_statistics"),
    "Before a fit": ("estimate_cost", "batch_size", "required_batch_size"),
    "Data and metrics": (
        *("collapse_duplicates", "scan_parquet", "distance_block"),
        *("pair_metric", "block_metric", "native_metric"),
    ),
}


def list_names(title: str, introduction: str, module: str, names: list[str]) -> str:
    """Return a section of the reference: a table of public names, each with a page of its own."""
    listed = "\n".join(f"   {name}" for name in names)
    head = f"{title}\n{'-' * len(title)}\n\n{introduction}\n\n.. currentmodule:: {module}\n\n"
    return f"{head}.. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n"


def write_reference(app: Sphinx, config: object) -> None:
    """Write the page of the reference, which lists every public name of the package."""
    public = {name: getattr(onebatchpam, name) for name in onebatchpam.__all__ if name != "__version__"}
    estimators = [name for name, value in public.items() if inspect.isclass(value) and issubclass(value, BaseEstimator)]
    functions = {name for name in public if name[0].islower()}
    if functions != {name for names in FUNCTIONS.values() for name in names}:
        raise ValueError(f"FUNCTIONS in docs/conf.py must have all functions of the package: {sorted(functions)}")
    results = [name for name in public if name not in {*estimators, *functions}]
    estimators.sort(key=lambda name: (name != "OneBatchPAM", name))
    sections = [
        "API reference\n=============\n\nFor the command line, see :doc:`commands`.\n",
        list_names(
            "Estimators",
            "All have the same interface; :doc:`/algorithms` compares them.",
            "onebatchpam",
            estimators,
        ),
        *(list_names(title, "", "onebatchpam", list(names)) for title, names in FUNCTIONS.items()),
        list_names("Results", "What the functions and methods return.", "onebatchpam", results),
        list_names(
            "Dask",
            "The same method on the partitions of a cluster; see :doc:`/dask`.",
            "onebatchpam.dask",
            list(onebatchpam.dask.__all__),
        ),
        "Command line\n------------\n\n.. toctree::\n\n   commands\n",
    ]
    write_page("api/index.rst", sections)
    write_page("api/commands.rst", list_commands())


def write_page(name: str, sections: list[str]) -> None:
    """Write a page of the site, unless it has this text already: an unchanged page is not built again."""
    page, text = HERE / name, "\n".join(sections)
    page.parent.mkdir(exist_ok=True)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def list_commands() -> list[str]:
    """Return the sections of the page of all commands: for each, its examples and options, as --help shows them."""
    (commands,) = (each for each in command_line.build_parser()._actions if each.dest == "command")
    sections = [
        "Commands and options\n====================\n",
        "What ``onebatchpam COMMAND --help`` says. :doc:`/shell` explains input, output and what to expect.\n",
    ]
    for name, parser in commands.choices.items():
        examples = textwrap.indent(textwrap.dedent(command_line.EXAMPLES[name]).strip(), "   ")
        (summary,) = (each.help for each in commands._choices_actions if each.dest == name)
        sections += [
            f"{name}\n{'-' * len(name)}\n",
            f"{summary[0].upper()}{summary[1:]}.\n",
            f".. code-block:: bash\n\n{examples}\n",
            f".. program:: onebatchpam {name}\n",
            *(describe_option(parser, action) for action in parser._actions if action.dest != "help"),
        ]
    return sections


def describe_option(parser: argparse.ArgumentParser, option: argparse.Action) -> str:
    """Return the entry of an option or argument on the page of all commands."""
    if option.help is argparse.SUPPRESS:
        return ""
    formatter = parser._get_formatter()
    choices = f" ({', '.join(map(str, option.choices))})" if option.choices else ""
    text = formatter._expand_help(option) if option.help else "which one"
    if option.choices and option.option_strings:
        option.metavar = option.dest.upper()  # the values stand in the text, which a narrow screen breaks
    called = formatter._format_action_invocation(option) if option.option_strings else option.metavar or option.dest
    return f".. option:: {called}\n\n   {text}{choices}\n".replace("'", "\\'")


def write_gallery(app: Sphinx) -> None:
    """Write the page of the gallery, which shows every example in one of its sections."""
    if sorted(SHOWN) != sorted(path.stem for path in (HERE.parent / "examples").glob("*.py")):
        raise ValueError("GALLERY in docs/conf.py must have every example once")
    sections = [(HERE.parent / "examples" / "GALLERY_HEADER.rst").read_text(encoding="utf-8")]
    for title, names in GALLERY.items():
        listed = "\n".join(f"   {name}" for name in names)
        shown = "\n".join(f"   ../examples/{name}.py" for name in names)
        sections += [
            f"{title}\n{'-' * len(title)}\n",
            f".. toctree::\n   :hidden:\n   :caption: {title}\n\n{listed}\n",
            f".. minigallery::\n\n{shown}\n",
        ]
    write_page("gallery/index.rst", sections)


def keep_links_on_the_site(app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to files beside docs/ lead to the pages that include them."""
    source[0] = re.sub(r"\]\((\.\./)+([A-Z]+)\.md", lambda link: f"](/{link[2].lower()}.md", source[0])


def keep_numbers_together(app: Sphinx, document: nodes.document) -> None:
    """Let no line of the text end between a number and its unit, or within `k = 100`."""
    for text in list(document.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw):
            joined = re.sub(r"(?<=\d) (?=%|[GMT]B\b|s\b)|(?<=\b[kmnp]) (?== \d)|(?<=\b[kmnp] =) (?=\d)", "\xa0", text)
            if joined != text:
                text.parent.replace(text, nodes.Text(joined))


def keep_parameters_plain(app: Sphinx, document: nodes.document) -> None:
    """Let no parameter of an estimator become a link because a function has the same name."""
    parameters = onebatchpam.OneBatchPAM().get_params()
    for link in list(document.findall(addnodes.pending_xref)):
        if link.get("py:class") and link["reftype"] == "obj" and link["reftarget"] in parameters:
            link.replace_self(link.children)


def widen_gallery(app: Sphinx, name: str, source: list[str]) -> None:
    """Leave out the menu on the right of examples, which need the width for their code."""
    if name.startswith("gallery/"):
        source[0] = f":html_theme.sidebar_secondary.remove:\n\n{source[0]}"


def drop_remote_icons(app: Sphinx, name: str, source: list[str]) -> None:
    """Let the buttons of a film have the icons of the theme, so that the site asks no other host for them."""
    source[0] = re.sub(r'<link rel="stylesheet"\s+href="https:[^>]+font-awesome[^>]+>', "", source[0])


def draw_printed(app: Sphinx) -> None:
    """Let the thumbnail of an example that draws nothing show the first lines that it prints."""
    for page in (HERE / "gallery").glob("*.rst"):
        text = page.read_text(encoding="utf-8")
        printed = re.findall(r"script-out\n\n \.\. code-block:: none\n\n((?:    .*\n|\n)+)", text)
        if printed and ".. image" not in text:
            printed_lines = [line for part in printed for line in textwrap.dedent(part).splitlines() if line][:9]
            lines = [line if len(line) <= 30 else f"{line[:29].rstrip()}…" for line in printed_lines]
            card, style = Figure(figsize=(4, 2.8)), {"family": "monospace", "size": 15, "linespacing": 1.35}
            card.text(0.03, 0.96, "\n".join(lines), va="top", parse_math=False, **style)
            card.savefig(page.parent / "images" / "thumb" / f"sphx_glr_{page.stem}_thumb.png", dpi=100)


def setup(app: Sphinx) -> None:
    """Have pages written before Sphinx looks for them, and mended when it reads them."""
    app.connect("config-inited", write_reference)
    app.connect("builder-inited", draw_printed, priority=900)  # after the gallery
    app.connect("builder-inited", write_gallery, priority=900)
    app.connect("source-read", keep_links_on_the_site)
    app.connect("source-read", drop_remote_icons)
    app.connect("source-read", widen_gallery)
    app.connect("doctree-read", keep_numbers_together)
    app.connect("doctree-read", keep_parameters_plain)
