"""`python -m bench download`: data sets from their public homes, checked, parsed, and cached as `NAME.npz`.

The check depends on what is known of a data set:

- where the paper's array is known (nine sets), the SHA-256 of the parsed array, of its shape and float32 values: the
  archive may be packed anew as long as its contents are those of the paper;
- for cifar, also the MD5 of the archive as published on its home page;
- for monitor_gas, the git blob id of the file inside the archive.

A download that fails a check is deleted: nothing doubtful and nothing half done stays in the cache.
"""

from __future__ import annotations

import argparse
import codecs
import gzip
import hashlib
import io
import pickle
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.io import arff

from bench.data.labelled import MNIST_LABELS
from bench.data.sets import DATASETS, DataSet, add_options, cache_folder, check_name, check_shape, is_available

UCI = "https://archive.ics.uci.edu/static/public"
TIMEOUT_SECONDS = 60


class DownloadError(Exception):
    """A data set could not be downloaded, or is not what it should be."""


@dataclass(frozen=True)
class Source:
    """The public home of a data set, and what its contents must be."""

    url: str
    parse: Callable[[bytes, DataSet, str], NDArray[Any]]  # (contents, set, variant) to rows with their labels
    member: str | None = None  # the file inside a zip archive
    archive_hash: str | None = None
    member_git_blob: str | None = None


def parse_csv(content: bytes, dataset: DataSet, variant: str) -> NDArray[Any]:
    """Parse comma separated values, of which columns that are not numbers are dropped, as the paper's loader did."""
    return _read_numbers(content, header=None if variant == "clean" and dataset.eaten_row else 0)


def parse_headless_csv(content: bytes, dataset: DataSet, variant: str) -> NDArray[Any]:
    """Parse comma separated values without a header, where the paper's loader knew that there is none."""
    return _read_numbers(content, header=None)


def _read_numbers(content: bytes, header: int | None) -> NDArray[np.float32]:
    import pandas

    frame = pandas.read_csv(io.BytesIO(content), header=header)
    return np.ascontiguousarray(frame.select_dtypes("number").to_numpy(dtype=np.float32))


def parse_arff(content: bytes, dataset: DataSet, variant: str) -> NDArray[Any]:
    """Parse the numeric attributes of an ARFF file."""
    rows, attributes = arff.loadarff(io.StringIO(content.decode()))
    numeric = [name for name, kind in zip(attributes.names(), attributes.types(), strict=True) if kind == "numeric"]
    return np.column_stack([rows[name] for name in numeric]).astype(np.float32)


def parse_idx(content: bytes, dataset: DataSet, variant: str) -> NDArray[Any]:
    """Parse compressed images in MNIST's format."""
    raw = gzip.decompress(content)
    if raw[:4] != b"\x00\x00\x08\x03":
        raise ValueError("expected an IDX file of bytes in three dimensions")
    n, height, width = np.frombuffer(raw, dtype=">u4", count=3, offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=16).reshape(int(n), int(height) * int(width))


def parse_labels(content: bytes) -> NDArray[Any]:
    """Parse compressed labels in MNIST's format."""
    raw = gzip.decompress(content)
    if raw[:4] != b"\x00\x00\x08\x01":
        raise ValueError("expected an IDX file of bytes in one dimension")
    return np.frombuffer(raw, dtype=np.uint8, offset=8)


def parse_cifar(content: bytes, dataset: DataSet, variant: str) -> NDArray[Any]:
    """Parse the five training batches."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = {Path(member.name).name: member for member in archive.getmembers()}
        return np.vstack([_read_images(archive, members, f"data_batch_{i}") for i in range(1, 6)])


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler of dictionaries, strings and NumPy arrays that refuses everything else: it might run code."""

    ALLOWED: ClassVar[dict[str, Any]] = {
        "_reconstruct": np.empty(0).__reduce__()[0],  # its module is another in NumPy 2 than in NumPy 1
        "ndarray": np.ndarray,
        "dtype": np.dtype,
        "encode": codecs.encode,
    }

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] in ("numpy", "_codecs") and name in self.ALLOWED:
            return self.ALLOWED[name]
        raise pickle.UnpicklingError(f"the file asks for {module}.{name}")


def _read_images(archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: str) -> NDArray[np.uint8]:
    if name not in members:
        raise ValueError(f"the archive has no {name}; it has {', '.join(sorted(members))}")
    file = archive.extractfile(members[name])
    assert file is not None
    return np.asarray(_PlainUnpickler(file, encoding="bytes").load()[b"data"], dtype=np.uint8)


CIFAR_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
CIFAR_MD5 = "md5:c58f30108f718f92721af3b95e74349a"
MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz"
MNIST_LABELS_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz"
GAS_URL = f"{UCI}/799/single+elder+home+monitoring+gas+and+position.zip"
GAS_BLOB = "cb089050673e3d4ad1994a04607f4cf3eb6c7d30"

SOURCES = {
    "abalone": Source(f"{UCI}/1/abalone.zip", parse_csv, "abalone.data"),
    "bankruptcy": Source(f"{UCI}/572/taiwanese+bankruptcy+prediction.zip", parse_csv, "data.csv"),
    "mapping": Source(f"{UCI}/400/crowdsourced+mapping.zip", parse_csv, "training.csv"),
    # The archive has a spreadsheet of the same numbers, which the paper's loader read.
    "drybean": Source(f"{UCI}/602/dry+bean+dataset.zip", parse_arff, "Dry_Bean_Dataset.arff"),
    "letter": Source(f"{UCI}/59/letter+recognition.zip", parse_csv, "letter-recognition.data"),
    "cifar": Source(CIFAR_URL, parse_cifar, archive_hash=CIFAR_MD5),
    "mnist": Source(MNIST_URL, parse_idx),
    "dota2": Source(f"{UCI}/367/dota2+games+results.zip", parse_headless_csv, "dota2Train.csv"),
    "monitor_gas": Source(GAS_URL, parse_csv, "database_gas.csv", member_git_blob=GAS_BLOB),
    "covertype": Source(f"{UCI}/31/covertype.zip", parse_csv, "covtype.data"),
}
ARRAY_SHA256 = {  # of the paper's variant
    "abalone": "a4f81c576813f3a55641f1db487efddfc6ded1dfe675d536d548cf0e91523a31",
    "bankruptcy": "38a31450e4a929df16a75dc9c1c29564bdfcb0b128fcad1cacd080cb6421aa6c",
    "mapping": "1c752f20743e692c3063f6d5fb058af962576763c693a8c7eda6cf26e5c38d48",
    "drybean": "9ce7e453ac289ea34ddb504013c81a6765f7b209f38ba7eb1e42c260cbacde91",
    "letter": "4b004d9ba03ebb13e0908fe8d536da52dfb38bacf0cef4b1e69b9ee2fdec7ad7",
    "cifar": "c4f10510d9ca31146212bd4281d6820ae2eba91e5d1e18dedf8ca1b29b3b2fbd",
    "mnist": "60c3d739ab15558e8bd5129d404743735f247b10d0afde4db9217b316023a94a",
    "dota2": "69fe7b4fd240586a7e800a91a78c8247ab59728fc9493564199ac3178bfbe4e3",
    "covertype": "c382b1da14bc21c7a3ed8a41ac173f9278c6067cb69f47bb43792de1bd4ad022",
}

MNIST_LABELS_SHA256 = "4ed70fdcd3fcf82e598f9706fbf73669d35b436616f6ecc72237a46fb7efb9c3"


def fetch(name: str, variant: str = "paper") -> Path:
    """Download, check, parse and cache a data set; return its file in the cache."""
    dataset = check_name(name)
    if name not in SOURCES:
        raise DownloadError(f"{name} has no public home")
    source = SOURCES[name]
    content = _download(source.url, source.archive_hash)
    try:
        member = content if source.member is None else _extract(content, source.member)
        _check(source.member_git_blob, hash_git_blob, member, f"{source.member} has the git blob id")
        X = source.parse(member, dataset, "paper")
        check_shape(X, dataset, "paper", source.url)
        _check(ARRAY_SHA256.get(name), hash_array, X, "the array has the SHA-256")
        if variant == "clean":
            X = dataset.drop_label(source.parse(member, dataset, "clean"))
            check_shape(X, dataset, "clean", source.url)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, pickle.PickleError) as error:
        raise DownloadError(f"{name} from {source.url} is not what it should be: {error}") from error
    return _save(X, cache_folder() / dataset.file_in(variant))


def fetch_mnist_labels() -> Path:
    """Download, check and cache the labels of mnist, which the paper does not need; return their file in the cache."""
    try:
        labels = parse_labels(_download(MNIST_LABELS_URL))
        _check(MNIST_LABELS_SHA256, hash_array, labels, "the labels have the SHA-256")
    except (ValueError, OSError, EOFError) as error:
        raise DownloadError(f"{MNIST_LABELS_URL} is not what it should be: {error}") from error
    return _save(labels, cache_folder() / f"{MNIST_LABELS}.npz")


def hash_array(X: NDArray[Any]) -> str:
    """Return the SHA-256 of the shape of an array and of its values as float32."""
    return hashlib.sha256(str(X.shape).encode() + np.ascontiguousarray(X, dtype="<f4").tobytes()).hexdigest()


def hash_git_blob(content: bytes) -> str:
    """Return the id that git would give a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _check(expected: str | None, compute: Callable[[Any], str], content: Any, what: str) -> None:
    """Raise if a hash is known and the contents have another."""
    if expected is not None and (actual := compute(content)) != expected:
        raise ValueError(f"{what} {actual}, expected {expected}")


def _download(url: str, known_hash: str | None = None) -> bytes:
    """Return the archive; pooch checks its hash if one is known. The file itself is not kept."""
    import pooch

    pooch.get_logger().setLevel("WARNING")  # its advice to state a hash is not for users
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = pooch.retrieve(
                url,
                known_hash=known_hash,
                path=folder,
                downloader=pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT_SECONDS),
            )
        except (OSError, ValueError) as error:  # the connection failed, or the hash differs
            raise DownloadError(f"{url} could not be downloaded: {error}") from error
        return Path(path).read_bytes()


def _extract(content: bytes, name: str) -> bytes:
    """Return the file of this name in a zip archive, whatever its folder, unpacked if it is compressed once more."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.namelist():
            if Path(member).name == name:
                return archive.read(member)
            if Path(member).name == f"{name}.gz":
                return gzip.decompress(archive.read(member))
        raise ValueError(f"the archive has no {name}; it has {', '.join(archive.namelist())}")


def _save(X: NDArray[Any], path: Path) -> Path:
    """Write the file under another name first, so that a file of this name is always whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        np.savez_compressed(file, X=X)
    return draft.replace(path)


def find_whole(name: str) -> str:
    """Return the data set that has to be fetched for another: `cifar` for `cifar20k`, in most cases itself."""
    return DATASETS[name].whole if name in DATASETS else name


def fetch_all(arguments: argparse.Namespace) -> None:
    """Fetch the data sets that are not at hand; failures are told at the end."""
    failures = []
    for name in dict.fromkeys(map(find_whole, arguments.names or SOURCES)):
        if name == MNIST_LABELS:
            print(f"{name}: {fetch_mnist_labels()}", flush=True)
            continue
        if name not in SOURCES:
            raise DownloadError(f"there is no data set {name!r}: expected one of {', '.join([*SOURCES, MNIST_LABELS])}")
        if is_available(name, arguments.data, arguments.variant):
            print(f"{name}: at hand")
            continue
        try:
            print(f"{name}: {fetch(name, arguments.variant)}", flush=True)
        except DownloadError as error:
            failures.append(str(error))
    if failures:
        raise DownloadError("\n".join(failures))


def add_command(commands: Any) -> None:
    """Add `download` to the command line."""
    parser = commands.add_parser("download", help="fetch data sets that are not in the folder into the cache")
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"all unless given: {', '.join(DATASETS)}; {MNIST_LABELS}"
    )
    add_options(parser)
    parser.set_defaults(run=fetch_all)
