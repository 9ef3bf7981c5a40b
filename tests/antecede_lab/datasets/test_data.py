"""Public traces: fetched from a server or a folder, and kept only if they are as published."""

import gzip
import hashlib
import io
import os
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from antecede.core.errors import LocalError
from antecede.eventlog.ownership import NOTE
from antecede_cli.main import main
from antecede_lab.datasets.fetching import (
    Fetched,
    TraceSet,
    chosen_sets,
    fetch,
    is_right,
    known_sets,
)

CONTENT = {"one.csv": b"1,2,3\n" * 100, "two.csv": b"4,5,6\n" * 100}


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server, on loopback, of the folder `published`."""
    published = tmp_path / "published"
    published.mkdir()
    for name, content in CONTENT.items():
        (published / name).write_bytes(content)
    with tarfile.open(published / "all.tar.gz", "w:gz") as archive:
        for name, content in CONTENT.items():
            entry = tarfile.TarInfo(f"project-1/data/load1/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(published)))
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    thread.join()
    http.server_close()


def single_files(server: str, **sums: str) -> TraceSet:
    files = {name: sums.get(name, sha(content)) for name, content in CONTENT.items()}
    return TraceSet(
        name="small",
        about="-",
        licence="-",
        folder="some/place",
        base=server,
        packed=True,
        files=files,
    )


def nothing(_: str) -> None:
    pass


def test_files_are_packed_checked_and_not_fetched_twice(server: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    wanted = single_files(server)
    assert fetch(wanted, out, None, nothing) == Fetched(files=2, new=2)
    assert gzip.decompress((out / "some/place/one.csv.gz").read_bytes()) == CONTENT["one.csv"]
    assert fetch(wanted, out, None, nothing) == Fetched(files=2, new=0)
    (out / "some/place/two.csv.gz").write_bytes(b"damaged")
    assert fetch(wanted, out, None, nothing) == Fetched(files=2, new=1)
    assert is_right(wanted, out, "two.csv")


def test_a_file_of_others_is_not_replaced_by_one_of_a_set(server: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    theirs = out / "some/place/two.csv.gz"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"theirs")

    with pytest.raises(LocalError, match=r"some/place/two\.csv\.gz would be lost"):
        fetch(single_files(server), out, None, nothing)
    assert [file.read_bytes() for file in out.rglob("*") if file.is_file()] == [b"theirs"]


def test_what_is_not_what_it_was_is_not_kept(server: str, tmp_path: Path) -> None:
    wanted = single_files(server, **{"two.csv": "0" * 64})
    with pytest.raises(LocalError, match=r"two\.csv is not what it was"):
        fetch(wanted, tmp_path / "out", None, nothing)
    assert [file.name for file in (tmp_path / "out").rglob("*.gz")] == ["one.csv.gz"]


def test_folders_of_an_archive_become_archives(server: str, tmp_path: Path) -> None:
    lines = "".join(f"{sha(content)}  {name}\n" for name, content in sorted(CONTENT.items()))
    wanted = TraceSet(
        name="packed", about="-", licence="-", folder="place", inside="data",
        archive=f"{server}/all.tar.gz", files={"load1": sha(lines.encode())},
    )  # fmt: skip
    assert fetch(wanted, tmp_path / "out", None, nothing) == Fetched(files=1, new=1)
    with tarfile.open(tmp_path / "out/place/load1.tar.xz") as archive:
        assert sorted(archive.getnames()) == sorted(CONTENT)
    other = TraceSet(
        name="packed", about="-", licence="-", folder="place", inside="data",
        archive=f"{server}/all.tar.gz", files={"load1": "0" * 64},
    )  # fmt: skip
    with pytest.raises(LocalError, match="is not what it was"):
        fetch(other, tmp_path / "elsewhere", None, nothing)
    left = [file.name for file in (tmp_path / "elsewhere").rglob("*") if file.is_file()]
    assert left == [NOTE]


def test_a_folder_can_stand_in_for_the_network(server: str, tmp_path: Path) -> None:
    wanted = single_files(server)
    fetch(wanted, tmp_path / "there", None, nothing)
    offline = single_files("http://127.0.0.1:9")
    assert fetch(offline, tmp_path / "here", tmp_path / "there", nothing).new == 2
    (tmp_path / "there/some/place/one.csv.gz").unlink()
    with pytest.raises(LocalError, match=r"one\.csv\.gz is not there"):
        fetch(offline, tmp_path / "again", tmp_path / "there", nothing)


def test_without_a_network_the_way_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="with --from"):
        fetch(single_files("http://127.0.0.1:9"), tmp_path, None, nothing)


def test_every_set_has_addresses_pinned_to_a_commit() -> None:
    for one in known_sets().values():
        address = one.base or one.archive
        assert address.startswith("https://")
        assert any(len(part) == 40 for part in address.split("/"))
        assert all(len(sum_) == 64 for sum_ in one.files.values())


def test_a_misspelt_set_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(LocalError, match="email"):
        chosen_sets(("emial",), known_sets())


def test_real_traces_are_what_was_published(tmp_path: Path) -> None:
    place = os.environ.get("ANTECEDE_DATA")
    if place is None:
        pytest.skip("real traces are wanted in ANTECEDE_DATA")
    run = CliRunner().invoke(
        main,
        ["lab", "data", "fetch", "topology", "zipkin", "--from", place, "--out", str(tmp_path)],
    )
    assert run.exit_code == 0, run.output
    checked = CliRunner().invoke(main, ["lab", "data", "check", "zipkin", "--out", str(tmp_path)])
    assert (checked.exit_code, checked.output) == (0, "zipkin: 3 of 3 as published\n")
    missing = CliRunner().invoke(main, ["lab", "data", "check", "email", "--out", str(tmp_path)])
    assert (missing.exit_code, missing.output) == (1, "email: 0 of 1 as published\n")
