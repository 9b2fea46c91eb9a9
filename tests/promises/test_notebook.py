"""What a notebook and `help` show: boxes that link to the documentation, tables, and parameters in a useful order."""

from __future__ import annotations

import html.parser
import inspect
import pydoc
import re

import numpy as np
import pytest
import sklearn

import onebatchpam
import onebatchpam.dask
from onebatchpam import OneBatchPAM, _show, estimate_cost, medoids_of, select_k

X = np.random.RandomState(0).rand(60, 3)
ESTIMATORS = [
    *(getattr(onebatchpam, name) for name in onebatchpam.__all__ if hasattr(getattr(onebatchpam, name), "predict")),
    onebatchpam.dask.OneBatchPAM,
]


def make_results():
    model = OneBatchPAM(3, random_state=0).fit(X)
    return {
        "KSelection": select_k(X, [2, 3]),
        "RowAssessment": model.assess_rows(X),
        "ClusterTable": model.describe_clusters(),
        "FitSummary": model.summary(X),
        "CostEstimate": estimate_cost(100, 3, 2),
        "LowerBound": model.certify(X),
        "ClusterMedoids": medoids_of(X, np.arange(60) % 3),
    }


class Cells(html.parser.HTMLParser):
    """Collects the texts of a piece of HTML, and checks that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_results_show_the_same_in_a_notebook_as_in_a_terminal():
    for name, result in make_results().items():
        shown = " ".join(" ".join(Cells(result._repr_html_()).texts).split())
        words = set(str(result).split())
        assert words <= set(shown.split()), name
        assert len(words) > 5, name


def test_text_of_users_is_no_html():
    found = medoids_of(X, ["<b>left</b>", "right & up"] * 30)
    assert "<b>" not in found._repr_html_()
    assert "&lt;b&gt;left&lt;/b&gt;" in found._repr_html_()
    assert "right & up" in Cells(found._repr_html_()).texts


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_box_of_an_estimator_links_to_its_page_once_there_is_one(estimator, monkeypatch):
    model = estimator(3)
    assert model._get_doc_link() == ""
    assert 'href="http' not in model._repr_html_()
    monkeypatch.setattr(_show, "DOCS_ADDRESS", "https://docs.example")
    page = f"https://docs.example/api/generated/{estimator.__module__}.{estimator.__name__}.html"
    assert model._get_doc_link() == page
    assert f'href="{page}"' in model._repr_html_()


def test_no_address_is_claimed_before_the_documentation_is_published():
    assert _show.DOCS_ADDRESS == "" or _show.DOCS_ADDRESS.startswith("https://")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_everybody_sets_comes_first(estimator):
    names = list(inspect.signature(estimator).parameters)
    assert names[:5] == ["n_clusters", "metric", "metric_params", "random_state", "n_jobs"]
    assert names[-1] == "verbose"
    if estimator is not onebatchpam.dask.OneBatchPAM:  # which refers to the other one
        section = estimator.__doc__.split("Parameters\n")[1].split("Attributes\n")[0]
        assert re.findall(r"(?m)^    (\w+) : ", section) == names
        assert "See Also\n" in estimator.__doc__


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_help_shows_what_people_call_before_what_scikit_learn_adds(estimator):
    text = pydoc.render_doc(estimator, renderer=pydoc.plaintext)
    for method in ("fit", "predict", "certify"):
        assert text.index(f" |  {method}(") < text.index(" |  set_fit_request(")


def test_routing_of_metadata_still_works():
    with sklearn.config_context(enable_metadata_routing=True):
        model = OneBatchPAM(2).set_fit_request(sample_weight=True, candidates=False)
        assert model.get_metadata_routing().fit.requests["sample_weight"] is True
        assert model.get_metadata_routing().fit.requests["candidates"] is False
        assert OneBatchPAM(2).get_metadata_routing().fit.requests["sample_weight"] is None

    class WithAnother(OneBatchPAM):
        def fit(self, X, y=None, another=None):
            return super().fit(X)

    with sklearn.config_context(enable_metadata_routing=True):
        assert WithAnother(2).set_fit_request(another=True).get_metadata_routing().fit.requests["another"] is True
