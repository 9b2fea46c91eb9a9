"""Manners of the command line: exit codes, one line for each error, nothing half done, nothing in the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import children
from faults import call_at_stages
from onebatchpam.cli import main

COMMANDS = ["cluster", "select", "predict", "choose-k", "estimate", "report", "demo", "completion"]


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    np.save(folder / "rows.npy", np.random.RandomState(0).rand(60, 3))
    return str(folder / "rows.npy")


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    return folder / "out"


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "onebatchpam", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


class TestHelp:
    @pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["cluster", "--help"]])
    def test_comes_without_waiting_for_scikit_learn(self, arguments):
        program = f"import sys; from onebatchpam.cli import main; sys.modules['sklearn'] = None; main({arguments!r})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout

    @pytest.mark.parametrize("command", COMMANDS)
    def test_begins_with_examples_that_can_be_typed(self, command, capsys):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        usage, examples, *_ = capsys.readouterr().out.split("\n\n")
        assert usage.startswith(f"usage: onebatchpam {command} ")
        assert examples.startswith(f"examples:\n  onebatchpam {command}")

    def test_without_a_command(self, capsys):
        assert main([]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert all(command in printed.err for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "zero"], "-k zero: expected a number of clusters"),
        (["-k", "0"], "-k 0: expected"),
        ([], "-k is missing"),
        (["-k", "2", "--metric", "euclid"], "did you mean 'euclidean'"),
        (["-k", "2", "--batch-size", "0"], "batch_size=0"),
        (["-k", "2", "--seed", "-1"], "seed=-1"),
        (["-k", "2", "--memory-limit", "much"], "memory_limit='much'"),
        (["-k", "2", "--columns", "a"], "has no columns"),
        (["-k", "2", "--show-as", "big"], "--show-as big"),
        (["-k", "2", "--certify", "-1"], "--certify=-1.0: expected a positive number"),
        (["-k", "2", "--kind", "a"], "--kind 'a'"),
        (["-k", "2", "--config", "nothing.toml"], "--config nothing.toml"),
        (["-k", "2", "-o", "caf\udce9"], r"'caf\udce9' is not UTF-8: expected UTF-8; rename the file"),
    ],
)
def test_wrong_usage_ends_in_one_line(arguments, message, file, capsys):
    assert main(["cluster", file, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["cluster"], ["cluster", "--colour"], ["paint"], ["cluster", "x.csv", "--labels", "x"]]
)
def test_wrong_words(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "arguments", "message", "code"),
    [
        ("nothing.csv", ["-k", "2"], "nothing.csv: No such file", 1),
        ("rows.xyz", ["-k", "2"], "the format of", 2),
        ("rows.xlsx", ["-k", "2"], "rows.xlsx is a spreadsheet: expected a table; save the sheet as CSV", 2),
        ("rows.npy", ["-k", "100"], "n_clusters=100 is larger than n_samples=60", 1),
        ("-", ["-k", "2"], "the format of stdin is not known", 2),
        ("", ["-k", "2"], "the name of the file is empty", 2),
    ],
)
def test_failures_end_in_one_line(name, arguments, message, code, file, capsys):
    path = name if name in ("-", "") else file.replace("rows.npy", name)
    assert main(["cluster", path, *arguments, "--quiet"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_images_that_the_rows_do_not_fill_are_refused_before_the_fit(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("onebatchpam.cli.cluster.fit", lambda *_: pytest.fail("the fit began"))
    table = tmp_path / "pixels.csv"
    table.write_text("a,b,c,d\n1,2,3,4\n5,6,7,8\n")
    for path, found in ((file, "rows of 3 numbers"), (str(table), "a table with named columns")):
        assert main(["cluster", path, "-k", "2", "--show-as", "2x2", "-q"]) == 1
        assert f"expected an array with 4 numbers in each row, got {found}" in capsys.readouterr().err


def test_debug_shows_the_traceback(capsys):
    assert main(["cluster", "nothing.csv", "-k", "2", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (KeyboardInterrupt(), "interrupted; nothing has been written", 130),
        (MemoryError("8 TB"), "not enough memory: 8 TB; pass --memory-limit", 1),
        (RuntimeError("a bug"), "RuntimeError: a bug; pass --debug", 1),
    ],
)
@pytest.mark.parametrize("stage", ["swap search", "assignment"])
def test_whatever_ends_a_run_nothing_is_left(error, message, code, stage, file, out, capsys, monkeypatch):
    def end(name):
        if name == stage:
            raise error

    call_at_stages(monkeypatch, end)
    assert main(["cluster", file, "-k", "2", "-o", str(out)]) == code
    assert message in capsys.readouterr().err
    assert not list(out.parent.iterdir())


def test_an_interrupt_that_a_library_loses_still_ends_the_run(file, out, capsys, monkeypatch):
    stages = []

    def lose_interrupt(name):
        stages.append(name)
        if name == "swap search":
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)

    call_at_stages(monkeypatch, lose_interrupt)
    former = signal.getsignal(signal.SIGINT)
    assert main(["cluster", file, "-k", "2", "-o", str(out)]) == 130
    assert "interrupted; nothing has been written" in capsys.readouterr().err
    assert not list(out.parent.iterdir())
    assert stages[-1] == "swap search"  # which did not go on
    assert signal.getsignal(signal.SIGINT) is former
    monkeypatch.undo()
    assert main(["cluster", file, "-k", "2", "-o", str(out)]) == 0  # the next run does not remember it


@pytest.mark.parametrize("name", ["write_labels", "save_model", "write_report"])
def test_whatever_fails_to_be_written_nothing_is_left(name, file, out, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"onebatchpam.cli.cluster.{name}", fail)
    out.mkdir()
    (out / "summary.json").write_text("of a former run")
    assert main(["cluster", file, "-k", "2", "-o", str(out), "--force"]) == 1
    assert "No space left" in capsys.readouterr().err
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert (out / "summary.json").read_text() == "of a former run"


class TestOverwriting:
    def test_is_refused_before_the_work(self, file, out, capsys, monkeypatch):
        monkeypatch.setattr("onebatchpam.cli.cluster.read_input", lambda *_: pytest.fail("the data were read"))
        out.mkdir()
        assert main(["cluster", file, "-k", "2", "-o", str(out)]) == 1
        assert "exists already; pass --force" in capsys.readouterr().err

    def test_is_possible(self, file, out, capsys):
        for k in ("2", "3"):
            assert main(["cluster", file, "-k", k, "-o", str(out), "--force", "--no-report"]) == 0
        assert len(json.loads((out / "summary.json").read_text())["medoids"]) == 3
        assert [path.name for path in out.parent.iterdir()] == ["out"]

    def test_is_never_done_to_the_folder_of_another(self, file, out, capsys):
        out.mkdir()
        (out / "thesis.tex").write_text("years of work")
        assert main(["cluster", file, "-k", "2", "-o", str(out), "--force"]) == 2
        assert "a folder that this command has not written" in capsys.readouterr().err
        assert (out / "thesis.tex").exists()

    def test_of_a_file(self, file, out, capsys):
        path = out.with_suffix(".csv")
        path.write_text("old")
        assert main(["select", file, "-k", "2", "-o", str(path)]) == 1
        assert path.read_text() == "old"
        assert main(["select", file, "-k", "2", "-o", str(path), "--force"]) == 0
        assert path.read_text() != "old"
        assert [each.name for each in out.parent.iterdir()] == ["out.csv"]

    @pytest.mark.parametrize("command", ["cluster", "select"])
    def test_is_never_done_to_the_input(self, command, file, out, capsys, monkeypatch):
        monkeypatch.setattr(f"onebatchpam.cli.{command}.read_input", lambda *_: pytest.fail("the data were read"))
        content = Path(file).read_bytes()
        out.mkdir()
        (out / "summary.json").write_text("of a former run")
        (out / "rows.npy").hardlink_to(file)
        for name in (file, out / "rows.npy", out):
            for read in (file, out / "rows.npy"):
                if name == out and (command == "select" or read == file):
                    continue
                assert main([command, str(read), "-k", "2", "-o", str(name), "--force"]) == 2
                assert capsys.readouterr().err.endswith(("the file to read: expected another name\n", "of a folder\n"))
        assert Path(file).read_bytes() == content
        assert sorted(path.name for path in out.iterdir()) == ["rows.npy", "summary.json"]

    @pytest.mark.skipif(os.name != "posix", reason="only administrators may make links")
    def test_a_folder_replaces_no_file_and_no_link(self, file, out, capsys, monkeypatch):
        monkeypatch.setattr("onebatchpam.cli.cluster.read_input", lambda *_: pytest.fail("the data were read"))
        out.write_text("years of work")
        (out.parent / "link").symlink_to(out.parent)
        for path in (out, out.parent / "link"):
            assert main(["cluster", file, "-k", "2", "-o", str(path), "--force"]) == 2
            assert "is a file or a link: expected the name of a folder" in capsys.readouterr().err
        assert out.read_text() == "years of work"

    def test_a_file_replaces_no_folder(self, file, out, capsys, monkeypatch):
        monkeypatch.setattr("onebatchpam.cli.select.read_input", lambda *_: pytest.fail("the data were read"))
        out = out.with_suffix(".csv")
        out.mkdir()
        assert main(["select", file, "-k", "2", "-o", str(out), "--force"]) == 2
        assert "is a folder: expected the name of a file" in capsys.readouterr().err


def test_no_folder_to_write_to(file, out, capsys):
    assert main(["cluster", file, "-k", "2", "-o", str(out / "deep" / "er")]) == 1
    assert "No such folder" in capsys.readouterr().err


class TestMessages:
    def test_data_on_stdout_all_else_on_stderr(self, file, capsys):
        assert main(["cluster", file, "-k", "2"]) == 0
        printed = capsys.readouterr()
        assert len(printed.out.splitlines()) == 61
        assert "60 rows of 3 numbers" in printed.err
        assert "\r" not in printed.err  # no progress bar
        assert "\033" not in printed.err  # no colours

    def test_quiet(self, file, capsys):
        assert main(["cluster", file, "-k", "2", "-q"]) == 0
        assert capsys.readouterr().err == ""

    def test_warnings_are_one_line_each_and_in_the_summary(self, tmp_path, out, capsys):
        (tmp_path / "rows.csv").write_text("a,b\n" + "".join(f"{i % 7},{1000 * (i % 11)}\n" for i in range(60)))
        assert main(["cluster", str(tmp_path / "rows.csv"), "-k", "2", "-q", "-o", str(out)]) == 0
        error = capsys.readouterr().err
        assert re.fullmatch(r"warning: 'b' makes up 100% of the squared euclidean distances.*\n", error)
        assert "'b' makes up" in json.loads((out / "summary.json").read_text())["warnings"][0]

    @pytest.mark.parametrize(("variables", "expected"), [({}, "\033[31merror\033[0m"), ({"NO_COLOR": "1"}, ": error:")])
    def test_colours_on_a_terminal_only(self, variables, expected, capsys, monkeypatch):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        assert main(["cluster", "nothing.csv", "-k", "2"]) == 1
        assert expected in capsys.readouterr().err


class TestConfig:
    def test_options_of_a_file(self, file, tmp_path, capsys):
        config = tmp_path / "run.toml"
        config.write_text(
            f'input = {file!r}\nmetric = "manhattan"\nk = 9\nquiet = true\n[cluster]\nk = 3\njson = true\n'
        )
        assert main(["cluster", "--config", str(config)]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert (summary["metric"], len(summary["medoids"])) == ("manhattan", 3)
        assert main(["cluster", "--config", str(config), "-k", "4"]) == 0  # what is typed wins
        assert len(json.loads(capsys.readouterr().out)["medoids"]) == 4

    def test_lists(self, tmp_path, capsys):
        (tmp_path / "rows.csv").write_text("a,b,c\n" + "".join(f"{i % 7},{'xyz'[i % 3]},{i % 5}\n" for i in range(60)))
        (tmp_path / "run.toml").write_text(
            'columns = ["a", "b"]\nkind = ["b=x<y<z", "a=ordinal"]\njson = true\nk = 2\n'
        )
        assert main(["cluster", str(tmp_path / "rows.csv"), "--config", str(tmp_path / "run.toml")]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary["parameters"]["metric_params"] == {"kinds": {"b": ["x", "y", "z"], "a": "ordinal"}}

    def test_a_file_that_is_not_toml(self, file, tmp_path, capsys):
        (tmp_path / "run.toml").write_text("k = ")
        assert main(["cluster", file, "--config", str(tmp_path / "run.toml")]) == 2
        assert "is neither TOML nor the summary.json of a run" in capsys.readouterr().err

    def test_an_option_that_does_not_exist(self, file, tmp_path, capsys):
        (tmp_path / "run.toml").write_text("colour = 1")
        with pytest.raises(SystemExit) as ended:
            main(["cluster", file, "--config", str(tmp_path / "run.toml")])
        assert ended.value.code == 2
        assert "unrecognized arguments: --colour=1" in capsys.readouterr().err


def test_a_missing_package_is_named_with_the_command_that_installs_it(file, out, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert main(["cluster", file, "-k", "2", "-o", str(out)]) == 1
    assert re.search(r"saving a model needs skops: pip install .*skops", capsys.readouterr().err)


@pytest.fixture
def environment(tmp_path):
    """Return an environment in which the command finds the package that is tested, as pytest does."""
    import onebatchpam

    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(onebatchpam.__file__))}


class TestAsAProgram:
    def test_in_a_pipe(self, file, environment):
        with start("cluster", "-", "--format", "npy", "-k", "2", stdin=subprocess.PIPE, env=environment) as process:
            with open(file, "rb") as rows:
                process.stdin.buffer.write(rows.read())
            printed, said = process.communicate()
        assert process.returncode == 0
        assert len(printed.splitlines()) == 61
        assert "stdin: 60 rows" in said

    @children.needs_posix
    @pytest.mark.parametrize(
        ("stream", "code", "n_printed", "message"),
        [
            (0, 1, 0, "error: stdin cannot be read as npy"),
            (1, 2, 0, "error: stdout is closed: expected"),
            (2, 0, 61, ""),  # notes must not get among the data
        ],
    )
    def test_with_a_closed_stream(self, stream, code, n_printed, message, file, environment):
        given = ["cluster", *(["-", "--format", "npy"] if stream == 0 else [file]), "-k", "2"]
        with start(*given, env=environment, preexec_fn=lambda: os.close(stream)) as process:
            printed, said = process.communicate()
        assert process.returncode == code
        assert len(printed.splitlines()) == n_printed
        assert message in said
        assert "NoneType" not in said

    @children.needs_posix
    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_whose_output_has_no_room(self, unbuffered, file, tmp_path, environment):
        """The beginning of the labels has room, so that the first write succeeds."""
        resource = pytest.importorskip("resource")
        with (tmp_path / "labels.csv").open("wb") as labels:
            done = subprocess.run(
                [sys.executable, "-m", "onebatchpam", "cluster", file, "-k", "2", "-q"],
                env=environment | {"PYTHONUNBUFFERED": unbuffered},
                stdout=labels,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
            )
        assert done.returncode == 1
        assert done.stderr.endswith("File too large\n")
        assert done.stderr.count("\n") == 1

    def test_whose_reader_leaves(self, tmp_path, environment):
        np.save(tmp_path / "rows.npy", np.random.RandomState(0).rand(30_000, 2))
        options = ["-k", "2", "--batch-size", "20", "-q"]
        with start("cluster", tmp_path / "rows.npy", *options, env=environment) as process:
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == ""
        assert process.returncode == 1

    @children.needs_posix
    def test_interrupted_by_ctrl_c(self, tmp_path, out, environment):
        np.save(tmp_path / "rows.npy", np.random.RandomState(0).rand(300_000, 8))
        with start("cluster", tmp_path / "rows.npy", "-k", "300", "-j", "2", "-o", out, env=environment) as process:
            assert "300,000 rows" in process.stderr.readline()
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
        assert process.returncode == 130
        assert said.endswith("error: interrupted; nothing has been written\n")
        assert not list(out.parent.iterdir())
