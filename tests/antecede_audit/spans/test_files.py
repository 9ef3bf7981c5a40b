"""Files, folders, archives, compression: what is opened, passed over, and damaged."""

import bz2
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from antecede.core.errors import LocalError
from antecede_audit.spans import trace_files as sources
from antecede_audit.spans.formats.catalogue import detected
from antecede_audit.spans.formats.containers import DamagedFile
from antecede_audit.spans.formats.records import MessageRecord, RejectRecord, SpanRecord
from antecede_audit.spans.reading import FileRead, Numbered, ReadOptions, read_part
from antecede_audit.spans.trace_files import find_files, parts_of
from tests.antecede_audit.spans.samples import (
    NEZHA_HEADER,
    START_NS,
    as_gzip,
    as_json,
    as_lines,
    as_tar,
    as_zip,
    jaeger,
    jaeger_span,
    nezha_line,
    otlp,
    otlp_span,
    read,
    spans_of,
    unpacked,
    zipkin_span,
)

TEXT = b"some text that is long enough to be compressed, " * 50
NOISE = random.Random(1).randbytes(300_000)
"""What no compression makes smaller."""

ZIPKIN = as_json([zipkin_span("1", None, "web", 0)])


@pytest.mark.parametrize(
    "packed",
    [TEXT, as_gzip(TEXT), bz2.compress(TEXT), lzma.compress(TEXT), as_gzip(as_gzip(TEXT))],
    ids=["plain", "gzip", "bzip2", "xz", "gzip twice"],
)
def test_compression_is_undone(packed: bytes) -> None:
    assert unpacked(packed) == ([("file", TEXT)], [])


def test_archives_are_read_member_by_member() -> None:
    tar = as_tar(one=b"1", two=as_gzip(b"2"))

    assert unpacked(tar) == ([("file!folder/one", b"1"), ("file!folder/two", b"2")], [])
    assert unpacked(as_zip(a=b"1", b=b"2")) == (
        [("file!folder/a", b"1"), ("file!folder/b", b"2")],
        [],
    )
    nested = unpacked(as_zip(inner=as_tar(one=b"1")))
    assert nested == ([("file!folder/inner!folder/one", b"1")], [])


def test_wrapping_has_a_limit() -> None:
    data = b"1"
    for _ in range(9):
        data = as_gzip(data)
    [(_, left)], _ = unpacked(data)

    assert left.startswith(b"\x1f\x8b")


@pytest.mark.parametrize("pack", [as_gzip, lzma.compress, bz2.compress])
def test_a_truncated_file_is_read_as_far_as_it_goes(pack: Callable[[bytes], bytes]) -> None:
    noise = NOISE
    packed = pack(noise)
    [(_, found)], damages = unpacked(packed[: len(packed) // 2])

    assert noise.startswith(found)
    assert len(found) > 100_000 or pack is bz2.compress, "whose blocks are larger than that"
    assert damages == [DamagedFile("file", "truncated file")]


def test_a_file_without_its_last_bytes_is_all_there() -> None:
    assert unpacked(as_gzip(TEXT)[:-4]) == (
        [("file", TEXT)],
        [DamagedFile("file", "truncated file")],
    )


def test_a_truncated_archive_has_its_first_members() -> None:
    tar = as_tar(one=b"1", two=NOISE)
    found, damages = unpacked(tar[:-100_000])

    assert found[0] == ("file!folder/one", b"1")
    assert "truncated file" in [damage.reason for damage in damages]


def test_a_damaged_archive_is_said_to_be_damaged() -> None:
    damage = DamagedFile("file", "damaged file (BadZipFile)")
    assert unpacked(as_zip(a=b"1" * 100)[:-30]) == ([], [damage])
    spoilt = bytearray(as_gzip(TEXT))
    spoilt[40] ^= 255
    assert unpacked(bytes(spoilt))[1] != []


def records_of(*paths: Path | str, format_name: str = "auto") -> list[Numbered]:
    """Everything that is read from these paths, in order."""
    parts = parts_of(find_files([str(path) for path in paths]).files)
    return [
        record for part in parts for record in read_part(part, ReadOptions(format_name=format_name))
    ]


def what(records: list[Numbered]) -> list[object]:
    """The records without their places, files without their counts."""
    return [record for *_, record in records]


def test_folders_are_searched_for_files_that_look_like_traces(tmp_path: Path) -> None:
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "deep" / "deeper" / "b.json").write_bytes(ZIPKIN)
    (tmp_path / "a.json.gz").write_bytes(as_gzip(ZIPKIN))
    (tmp_path / "README.md").write_text("read me")
    (tmp_path / ".hidden.json").write_bytes(ZIPKIN)
    (tmp_path / "_SUCCESS").write_text("")
    found = find_files([str(tmp_path)])

    assert [Path(path).name for path, _ in found.files] == ["a.json.gz", "b.json"]
    assert [Path(path).name for path in found.passed_over] == ["README.md"]


def test_a_file_that_is_named_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_bytes(ZIPKIN)

    assert [type(record) for record in what(records_of(file))] == [SpanRecord, FileRead]
    assert what(records_of(f"file://{file}")) == what(records_of(file))


def test_a_folder_of_this_machine_may_be_given_by_its_url(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(ZIPKIN)

    assert [path for path, _ in find_files([f"file://{tmp_path}"]).files] == [f"{tmp_path}/a.json"]


def test_missing_paths_and_folders_without_traces_are_errors(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="there is no such file"):
        find_files([str(tmp_path / "nothing")])
    with pytest.raises(LocalError, match="there is no trace in"):
        find_files([str(tmp_path)])
    with pytest.raises(LocalError, match="nosuch://x is not on this machine"):
        find_files(["nosuch://x"])


@pytest.mark.parametrize(
    ("data", "format_name"),
    [
        (as_json(jaeger(jaeger_span("1", None, "p", 0, 1), p="a")), "jaeger"),
        (json.dumps(jaeger(), indent=3).encode(), "jaeger"),
        (as_json(otlp(a=[otlp_span("1", "", 0, 1)])), "otlp"),
        (ZIPKIN, "zipkin"),
        (b"[ ]\n", "zipkin"),
        (as_lines(NEZHA_HEADER), "nezha"),
        (b"a b 1\n", "messages"),
        (b"% a comment\nFrom,To,Time\n", "messages"),
        (b"PAR1....", "messages"),
        (b"The quick brown fox\njumps\n", None),
        (b'{"level": "info"}', None),
        (b"", None),
        (b"\x00\xff" * 99, None),
    ],
)
def test_formats_are_recognised_by_how_files_begin(data: bytes, format_name: str | None) -> None:
    assert detected(data, None) == format_name


def test_files_of_no_known_format_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"parent": "x", "child": "y", "callCount": 4}]')
    (tmp_path / "b.txt").write_text("once upon a time\n")
    (tmp_path / "c.txt").write_text("")
    records = records_of(tmp_path)

    assert [record.reason for record in what(records) if isinstance(record, RejectRecord)] == [
        "a graph of dependencies, without times: `antecede lab grow` takes it",
        "none of the formats that are understood",
        "empty file",
    ]
    files = [record for record in what(records) if isinstance(record, FileRead)]
    assert [(file.format, file.records) for file in files] == [("unknown", 1)] * 3
    assert len({file.fingerprint for file in files}) == 3


def test_damage_is_a_reject_after_what_could_be_read(tmp_path: Path) -> None:
    lines = [nezha_line(str(i), "root", "pod", i, i + 9) for i in range(20_000)]
    packed = as_gzip(as_lines(NEZHA_HEADER, *lines))
    (tmp_path / "a.csv.gz").write_bytes(packed[: len(packed) // 2])
    records = records_of(tmp_path)

    spans = [record for record in what(records) if isinstance(record, SpanRecord)]
    assert len(spans) > 1_000
    name = str(tmp_path / "a.csv.gz")
    assert [record[2:] for record in records[-2:]] == [
        (name, RejectRecord("", "truncated file", "")),
        (name, FileRead("damaged", len(spans), None, "truncated file")),
    ]


def test_one_damage_is_one_reject_however_often_it_is_met(tmp_path: Path) -> None:
    lines = [nezha_line(str(i), "root", "pod", i, i + 9) for i in range(20_000)]
    packed = as_gzip(as_tar(**{"a.csv": as_lines(NEZHA_HEADER, *lines)}))
    (tmp_path / "a.tar.gz").write_bytes(packed[: len(packed) // 2])
    last = RejectRecord("", "truncated file", "")

    assert [record[2] for record in records_of(tmp_path) if record[3] == last] == [
        str(tmp_path / "a.tar.gz"),
        str(tmp_path / "a.tar.gz") + "!folder/a.csv",
    ]


@pytest.mark.parametrize("bytes_of_a_part", [100, 1_000, 7_777, 1 << 20])
def test_large_files_of_lines_are_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_of_a_part: int
) -> None:
    monkeypatch.setattr(sources, "PART_BYTES", bytes_of_a_part)
    lines = [nezha_line(str(i), "root", "pod", i, i + 9) for i in range(300)]
    (tmp_path / "a.csv").write_bytes(as_lines(NEZHA_HEADER, *lines))
    (tmp_path / "b.txt").write_bytes(as_lines(*[f"p{i} p{i + 1} {i}" for i in range(900)]))
    documents = [as_json([zipkin_span(str(i), None, "web", i)]) for i in range(100)]
    (tmp_path / "c.jsonl").write_bytes(b"\n".join(documents))
    records = what(records_of(tmp_path))

    spans = [record for record in records if isinstance(record, SpanRecord)]
    assert [one.start_ns for one in spans[:300]] == [START_NS + i for i in range(300)]
    assert [one.span for one in spans[300:]] == [str(i) for i in range(100)]
    copies = [record for record in records if isinstance(record, MessageRecord)]
    assert [one.sender for one in copies] == [f"p{i}" for i in range(900)]
    assert [record for record in records if isinstance(record, RejectRecord)] == []


def test_a_bad_line_amid_a_large_file_is_called_by_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "PART_BYTES", 50)
    data = as_lines(*[f"p{i} p{i + 1} {i}" for i in range(20)], "oops", "a b 3")
    (tmp_path / "b.txt").write_bytes(data)
    rejects = [record for record in what(records_of(tmp_path)) if isinstance(record, RejectRecord)]

    assert rejects == [
        RejectRecord(f"byte {data.index(b'oops')}", "fewer than three columns", "oops")
    ]


def test_tables_whose_causes_are_lines_are_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "PART_BYTES", 50)
    lines = [f"a,b,{i},{i or ''}" for i in range(50)]
    (tmp_path / "b.csv").write_bytes(as_lines("sender,receiver,time,cause", *lines))

    records = records_of(tmp_path)

    copies = [record for *_, record in records if isinstance(record, MessageRecord)]
    assert [one.label for one in copies] == [f"\x1f{number}" for number in range(1, 51)]
    assert {number for number, *_ in records} == {0}, "its first part is all of it"


def test_what_is_packed_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PART_BYTES", 50)
    lines = [nezha_line(str(i), "root", "pod", i, i + 9) for i in range(300)]
    (tmp_path / "a.csv.gz").write_bytes(as_gzip(as_lines(NEZHA_HEADER, *lines)))
    records = records_of(tmp_path)

    assert len(parts_of(find_files([str(tmp_path)]).files)) > 10
    assert len(records) == 301
    assert {number for number, *_ in records} == {0}


def test_tasks_have_about_as_much_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is opened for this: there are none."""
    monkeypatch.setattr(sources, "PART_BYTES", 100)
    monkeypatch.setattr(sources, "TASK_BYTES_MIN", 10)
    monkeypatch.setattr(sources, "TASK_BYTES_MAX", 50)
    small = [(f"a/{number}.json", 20) for number in range(1_000)]
    files = [*small, ("b.jsonl", 1_050), ("c.json.gz", 300)]
    tasks = sources.tasks_of(files)
    by_task: dict[int, list[sources.FilePart]] = {}
    for task, part in tasks:
        by_task.setdefault(task, []).append(part)

    assert [part for _, part in tasks] == parts_of(files)
    assert list(by_task) == list(range(len(by_task)))
    assert [len(parts) for parts in by_task.values()] == [2] * 500 + [1] * 10 + [1, 3]


def test_large_parquet_files_are_read_by_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "PART_BYTES", 50)
    times = [*range(9), None]
    table = pa.table({"sender": ["a"] * 10, "receiver": ["b"] * 10, "time": times})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    records = what(records_of(tmp_path))

    assert [one.sent_ns for one in records if isinstance(one, MessageRecord)] == [
        i * 1_000_000_000 for i in range(9)
    ]
    assert [one.position for one in records if isinstance(one, RejectRecord)] == ["row 10"]


def test_reading_does_not_depend_on_how_a_trace_is_packed() -> None:
    document = as_json(jaeger(jaeger_span("1", None, "p", 0, 1), p="a"))
    expected = spans_of(read(document))

    for packed in (as_gzip(document), as_tar(x=document), as_zip(x=document)):
        assert spans_of(read(packed)) == expected
