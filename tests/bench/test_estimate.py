"""`python -m bench estimate`, on very few rows."""

from __future__ import annotations

from bench.studies import estimate as study


def test_the_study_compares_estimates_with_fits(capsys, monkeypatch):
    cases = [study.Case(study.make_mixture, 300, 3, 4, "euclidean"), study.Case(study.make_words, 50, 6, 3, "indel")]
    monkeypatch.setattr(study, "list_cases", lambda scale: cases)
    study.run_cases(type("Arguments", (), {"scale": 1.0, "seeds": 1}))
    shown = capsys.readouterr().out
    assert "| mixture | 300 | 3 | 4 | euclidean | whole |" in shown
    assert "block storage: right in 2 of 2" in shown
    assert len(list(study.list_cases(0.01))) == 2
