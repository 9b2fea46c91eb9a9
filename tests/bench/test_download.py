"""Downloads of data sets, from a server of our own."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from bench.__main__ import main
from bench.data import synthetic
from bench.data.download import ARRAY_SHA256, SOURCES, DownloadError, fetch, hash_array
from bench.data.sets import DATASETS, default_folder, find_file, load, load_stored

FILES = {}  # what the server has, by path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content, claimed = FILES.get(self.path, (None, 0))
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(claimed))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def offer(server, cache, monkeypatch):
    """Return a function that puts an archive on the server as the home of a data set of another shape."""

    def offer(name, archive, paper, *, cut=0, array_sha256=None, **facts):
        FILES[f"/{name}"] = (archive[: len(archive) - cut], len(archive))
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], shape=paper.shape))
        monkeypatch.setitem(ARRAY_SHA256, name, array_sha256 or hash_array(paper))
        checks = {"archive_hash": None, "member_git_blob": None, **facts}
        monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], url=f"{server}/{name}", **checks))

    return offer


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_zip(name, content):
    return zipped(**{"__MACOSX/._" + name: b"junk", "folder/" + name: content})


def in_cache(cache):
    return sorted(path.name for path in cache.glob("*")) if cache.exists() else []


ABALONE = b"M,0.455,0.365,15\nF,0.53,0.42,9\nI,0.33,0.255,7\n"
ABALONE_PAPER = np.array([[0.53, 0.42, 9], [0.33, 0.255, 7]], dtype=np.float32)
ABALONE_CLEAN = np.array([[0.455, 0.365], [0.53, 0.42], [0.33, 0.255]], dtype=np.float32)

LETTER = b"T,2,8,3\nI,5,12,3\nD,4,11,6\n"
COVERTYPE = b"2596,51,1,0,5\n2590,56,0,1,5\n"
DOTA = b"-1,223,2,0,1\n1,152,2,-1,0\n"
BANKRUPTCY = b"Bankrupt?, ROA(C), Flag\n1,0.370594257300249,1\n0,0.464290937454297,1\n"
MAPPING = b"class,max_ndvi,20150720_N\nwater,997.904,637.5950000000001\nforest,914.198,634.24\n"
GAS = b"timestamp,temperature,MQ2\n2019-11-06 18:00,22.5,696.5\n2019-11-06 18:01,22.25,697.0\n"
BEANS = b"@relation beans\n@attribute Area integer\n@attribute Ratio real\n@attribute Class {SEKER, SIRA}\n@data\n"
BEANS += b"28395,1.197,SEKER\n28734,1.097,SIRA\n"

TABLES = {
    "abalone": (as_zip("abalone.data", ABALONE), ABALONE_PAPER, ABALONE_CLEAN),
    "letter": (
        as_zip("letter-recognition.data", LETTER),
        [[5, 12, 3], [4, 11, 6]],
        [[2, 8, 3], [5, 12, 3], [4, 11, 6]],
    ),
    "covertype": (
        as_zip("covtype.data.gz", gzip.compress(COVERTYPE)),
        [[2590, 56, 0, 1, 5]],
        [[2596, 51, 1, 0], [2590, 56, 0, 1]],
    ),
    "dota2": (
        as_zip("dota2Train.csv", DOTA),
        [[-1, 223, 2, 0, 1], [1, 152, 2, -1, 0]],
        [[223, 2, 0, 1], [152, 2, -1, 0]],
    ),
    "bankruptcy": (
        as_zip("data.csv", BANKRUPTCY),
        [[1, 0.370594257300249, 1], [0, 0.464290937454297, 1]],
        [[0.370594257300249, 1], [0.464290937454297, 1]],
    ),
    "mapping": (as_zip("training.csv", MAPPING), [[997.904, 637.595], [914.198, 634.24]], None),
    "monitor_gas": (as_zip("database_gas.csv", GAS), [[22.5, 696.5], [22.25, 697]], None),
    "drybean": (as_zip("Dry_Bean_Dataset.arff", BEANS), [[28395, 1.197], [28734, 1.097]], None),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_with_and_without_the_slips(name, offer, cache, tmp_path):
    archive, paper, clean = TABLES[name]
    paper = np.array(paper, dtype=np.float32)
    offer(name, archive, paper)
    fetch(name)
    np.testing.assert_array_equal(load(name, tmp_path), paper)
    fetch(name, "clean")
    clean = paper if clean is None else np.array(clean, dtype=np.float32)
    np.testing.assert_array_equal(load(name, tmp_path, variant="clean"), clean)


def test_images_of_mnist(offer, tmp_path):
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    header = b"\x00\x00\x08\x03" + np.array([3, 2, 2], dtype=">u4").tobytes()
    offer("mnist", gzip.compress(header + pixels.tobytes()), pixels)
    fetch("mnist")
    np.testing.assert_array_equal(load_stored("mnist", tmp_path), pixels)
    np.testing.assert_array_equal(load("mnist", tmp_path), pixels / np.float32(255))


def cifar_archive(content):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for number in range(1, 6):
            batch = pickle.dumps(content(number), protocol=2)
            member = tarfile.TarInfo(f"cifar-10-batches-py/data_batch_{number}")
            member.size = len(batch)
            archive.addfile(member, io.BytesIO(batch))
    return file.getvalue()


def test_images_of_cifar(offer, tmp_path):
    batches = [np.full((2, 6), number, dtype=np.uint8) for number in range(1, 6)]
    archive = cifar_archive(lambda number: {b"data": batches[number - 1], b"labels": [0, 1]})
    offer("cifar", archive, np.vstack(batches), archive_hash=f"md5:{hashlib.md5(archive).hexdigest()}")
    fetch("cifar")
    np.testing.assert_array_equal(load_stored("cifar", tmp_path), np.vstack(batches))


def test_a_part_is_fetched_with_its_whole(offer, cache, tmp_path, monkeypatch, capsys):
    rows = np.repeat(np.arange(1, 6, dtype=np.uint8), 12).reshape(10, 6)
    archive = cifar_archive(lambda number: {b"data": rows[2 * number - 2 : 2 * number]})
    offer("cifar", archive, rows)
    monkeypatch.setitem(DATASETS, "cifar20k", replace(DATASETS["cifar20k"], shape=(4, 6)))
    assert main(["download", "cifar20k", "cifar", "--data", str(tmp_path)]) == 0
    assert in_cache(cache) == ["cifar.npz"]
    np.testing.assert_array_equal(load_stored("cifar20k", tmp_path), rows[:4])


def test_a_pickle_that_runs_code_is_refused(offer, cache):
    archive = cifar_archive(lambda number: {b"data": print})
    offer("cifar", archive, np.zeros((2, 6)))
    with pytest.raises(DownloadError, match=r"asks for (__)?builtins?(__)?\.print"):
        fetch("cifar")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"array_sha256": "0" * 64}, "the array has the SHA-256 .*, expected 0000"),
        ({"archive_hash": "md5:" + "0" * 32}, "does not match the known hash"),
        ({"member_git_blob": "0" * 40}, "abalone.data has the git blob id .*, expected 0000"),
        ({"member": "other.data"}, "the archive has no other.data; it has .*folder/abalone.data"),
    ],
)
def test_what_is_not_as_expected_is_not_cached(facts, message, offer, cache):
    offer("abalone", as_zip("abalone.data", ABALONE), ABALONE_PAPER, **facts)
    with pytest.raises(DownloadError, match=message):
        fetch("abalone")
    assert in_cache(cache) == []


def test_the_git_blob_id_is_that_of_git(offer, cache):
    offer("monitor_gas", as_zip("database_gas.csv", b"hello\n"), np.zeros((1, 1)), member_git_blob="ce0136" + "2" * 34)
    with pytest.raises(DownloadError, match="git blob id ce013625030ba8dba906f756967f9e9ca394464a"):  # of "hello\n"
        fetch("monitor_gas")


def test_another_shape_is_not_cached(offer, cache):
    offer("abalone", as_zip("abalone.data", ABALONE), ABALONE_PAPER[:1])
    with pytest.raises(DownloadError, match=r"abalone has shape \(2, 3\), expected \(1, 3\)"):
        fetch("abalone")
    assert in_cache(cache) == []


def test_an_interrupted_download_leaves_nothing(offer, cache):
    offer("abalone", as_zip("abalone.data", ABALONE), ABALONE_PAPER, cut=20)
    with pytest.raises(DownloadError, match="could not be downloaded"):
        fetch("abalone")
    assert in_cache(cache) == []


def test_a_missing_page_is_an_error(offer, cache):
    offer("abalone", b"", ABALONE_PAPER)
    del FILES["/abalone"]
    with pytest.raises(DownloadError, match="404"):
        fetch("abalone")


def test_the_download_command(offer, cache, tmp_path, capsys):
    offer("abalone", as_zip("abalone.data", ABALONE), ABALONE_PAPER)
    command = ["download", "abalone", "--data", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert str(cache / "abalone.npz") in printed.out
    assert "100%" in printed.err  # the progress bar
    assert in_cache(cache) == ["abalone.npz"]
    assert main(command) == 0
    assert "abalone: at hand" in capsys.readouterr().out


def test_what_cannot_be_downloaded_does_not_keep_the_rest(offer, cache, tmp_path, capsys):
    offer("abalone", as_zip("abalone.data", ABALONE), ABALONE_PAPER)
    offer("letter", b"", ABALONE_PAPER)
    del FILES["/letter"]
    assert main(["download", "letter", "abalone", "--data", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert in_cache(cache) == ["abalone.npz"]
    assert "404" in printed.err
    assert main(["download", "iris", "--data", str(tmp_path)]) == 2
    assert "there is no data set 'iris': expected one of abalone, " in capsys.readouterr().err


def test_every_data_set_of_the_paper_has_a_home_and_a_check():
    assert set(SOURCES) == {dataset.whole for dataset in DATASETS.values()} - set(synthetic.SETS)
    for name, source in SOURCES.items():
        assert name in ARRAY_SHA256 or source.archive_hash or source.member_git_blob


@pytest.mark.parametrize("name", ["abalone", "bankruptcy", "mapping", "drybean", "letter", "mnist", "dota2"])
def test_the_checksums_are_those_of_the_papers_arrays(name):
    if find_file(DATASETS[name], default_folder(), "paper") is None:
        pytest.skip(f"{name} is not at hand")
    assert hash_array(load_stored(name, default_folder())) == ARRAY_SHA256[name]
