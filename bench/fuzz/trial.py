"""One case, from its seed to its failures."""

from __future__ import annotations

import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

from bench.fuzz import functions, models
from bench.fuzz.case import ESTIMATORS, Case, draw_case
from bench.fuzz.refusals import check_refusal
from bench.measure.process import TIMED, Announce

Record = dict[str, Any]


class Trial:
    """Runs the checks of a case one after the other, and collects those that fail."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.failures: dict[str, str] = {}  # by the names of the checks
        self.was_refused = False

    def run(self) -> None:
        """Fit or call what the case says; check the result, or the refusal."""
        before = self.case.data.snapshot()
        if self.case.target in ESTIMATORS:
            self._run_estimator()
        else:
            self._run_function()
        if self.case.data.snapshot() != before:
            self.failures["inputs"] = "the rows of the user were changed"

    def _run_estimator(self) -> None:
        try:
            model = self.case.fit()
        except Exception as error:
            self._judge(error)
            return
        self._expect_no_flaw()
        for check in models.CHECKS:
            if self.case.seed % models.SELDOM.get(check, 1) > 0:
                continue
            try:
                check(self.case, model)
            except Exception as error:
                self.failures[check.__name__] = describe_error(error)

    def _run_function(self) -> None:
        try:
            functions.CHECKS[self.case.target](self.case)
        except AssertionError as error:
            self.failures[self.case.target] = describe_error(error)
        except Exception as error:
            self._judge(error)
        else:
            self._expect_no_flaw()

    def _expect_no_flaw(self) -> None:
        if self.case.flaw is not None:
            self.failures["refusal"] = f"not refused: {self.case.flaw}"

    def _judge(self, error: Exception) -> None:
        """Accept an error of the package, or note why it should not have been raised."""
        try:
            check_refusal(self.case, error)
        except AssertionError as objection:
            self.failures["refusal"] = f"{objection}\n{describe_error(error)}"
        else:
            self.was_refused = True


def expect_advice_only() -> None:
    """Turn warnings into errors, except advice about data and parameters, which the package gives as UserWarning."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", UserWarning)


def describe_error(error: Exception) -> str:
    """Return an error with the places where it was raised."""
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f"{' '.join(places[-6:])}\n{type(error).__name__}: {str(error).strip()[:1500]}"


def describe_trial(announce: Announce, seed: int) -> Record:
    """Describe the case of a seed without running it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return {"code": draw_case(seed, Path(folder)).describe()}


def run_trial(announce: Announce, seed: int) -> Record:
    """Draw the case of a seed and run it; this is a task for `bench.measure.process`."""
    announce(TIMED)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, warnings.catch_warnings():
        expect_advice_only()
        case = draw_case(seed, Path(folder))
        trial = Trial(case)
        trial.run()
        return {
            "failures": trial.failures,
            "counts": {"fits": case.n_fits, "refused": int(trial.was_refused)},
            "code": case.describe() if trial.failures else "",
        }
