"""The journal keeps what it promised, whatever the disk does, and says what it cannot keep."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.durability.disk import Disk
from antecede.durability.errors import JournalCorrupt, JournalFailed, JournalFull, JournalInUse
from antecede.durability.journal import Journal, check, contents, file_name, open_journal, repair
from antecede.durability.log_format import (
    BLOCK_HEADER,
    FILE_HEADER,
    encode_block,
    file_header,
    read_blocks,
)
from tests.antecede.durability.failing_disk import FailingDisk, PowerFailure

SNAPSHOT = [b"snapshot"]


def begun(disk: Disk, **options: int) -> Journal:
    journal = Journal(disk, growth_bytes_min=options.get("growth", 1 << 20))
    assert journal.open() is None
    journal.rotate_file(SNAPSHOT)
    return journal


def read_again(disk: Disk) -> list[bytes] | None:
    journal = Journal(disk)
    records = journal.open()
    journal.close()
    return records


@given(st.lists(st.lists(st.binary(max_size=50), max_size=5), max_size=10))
def test_what_was_committed_comes_back_in_order(groups: list[list[bytes]]) -> None:
    disk = FailingDisk()
    journal = begun(disk)
    for group in groups:
        journal.commit(group)
    journal.close()
    assert read_again(disk) == SNAPSHOT + [record for group in groups for record in group]


def test_it_goes_on_after_being_opened_again(tmp_path: Path) -> None:
    journal, found = open_journal(tmp_path)
    assert found is None
    journal.rotate_file([b"a"])
    journal.commit([b"b", b""])
    journal.close()
    journal, found = open_journal(tmp_path)
    assert found == [b"a", b"b", b""]
    journal.commit([b"c"])
    journal.close()
    assert read_again(Disk(tmp_path)) == [b"a", b"b", b"", b"c"]


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    journal = begun(Disk(tmp_path), growth=100)
    assert not journal.needs_rotation()
    journal.commit([bytes(200)])
    assert journal.needs_rotation()
    journal.rotate_file([b"all that counts"])
    assert not journal.needs_rotation()
    journal.commit([b"after"])
    journal.close()
    assert sorted(os.listdir(tmp_path)) == [file_name(2), "lock"]
    assert read_again(Disk(tmp_path)) == [b"all that counts", b"after"]


def commits_until_power_fails(disk: FailingDisk) -> list[bytes]:
    """Promises made before the end: the records of every commit that returned."""
    promised: list[bytes] = []
    try:
        journal = Journal(disk, growth_bytes_min=1)
        if journal.open() is None:
            journal.rotate_file([b"0"])
            promised = [b"0"]
        for number in range(1, 30):
            record = b"%d" % number
            journal.commit([record, b"x" * number])
            promised += [record, b"x" * number]
            if number % 7 == 0:
                journal.rotate_file(list(promised))
    except PowerFailure:
        pass
    return promised


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 1.0])
def test_a_power_failure_at_any_step_loses_nothing_promised(kept: float) -> None:
    """Every step in turn; what was written but not synced survives in part, or not, or whole."""
    whole = FailingDisk()
    everything = commits_until_power_fails(whole)
    assert whole.steps > 60
    for step in range(1, whole.steps + 1):
        disk = FailingDisk()
        disk.crash_at = step
        promised = commits_until_power_fails(disk)
        found = read_again(disk.after_power_failure(kept)) or []
        assert found[: len(promised)] == promised, f"step {step}"
        assert found == everything[: len(found)], f"step {step}"


def test_a_torn_tail_is_cut_off_and_said_so(tmp_path: Path) -> None:
    journal = begun(Disk(tmp_path))
    journal.commit([b"kept"])
    journal.close()
    file = tmp_path / file_name(1)
    good = file.read_bytes()
    torn = encode_block(2, [b"never promised"])
    for length in range(1, len(torn)):
        file.write_bytes(good + torn[:length])
        assert check(tmp_path).torn == length
        again = Journal(Disk(tmp_path))
        assert again.open() == [*SNAPSHOT, b"kept"]
        assert again.torn_bytes == length
        again.close()
        assert file.read_bytes() == good


def test_a_change_in_the_middle_is_refused_wherever_it_is(tmp_path: Path) -> None:
    journal = begun(Disk(tmp_path))
    for number in range(3):
        journal.commit([b"record %d" % number])
    journal.close()
    file = tmp_path / file_name(1)
    good = file.read_bytes()
    last = read_blocks(good, "x").blocks[-1].start
    for at in range(FILE_HEADER.size, last):
        bad = bytearray(good)
        bad[at] ^= 0x10
        file.write_bytes(bytes(bad))
        with pytest.raises(JournalCorrupt):
            Journal(Disk(tmp_path)).open()
        assert check(tmp_path).corrupt is not None


def test_a_repaired_journal_is_accepted(tmp_path: Path) -> None:
    journal = begun(Disk(tmp_path))
    journal.commit([b"one"])
    journal.commit([b"two"])
    journal.close()
    file = tmp_path / file_name(1)
    good = file.read_bytes()
    assert repair(tmp_path) == "nothing to repair"
    file.write_bytes(good + b"torn")
    assert "cut off 4 bytes" in repair(tmp_path)
    assert file.read_bytes() == good
    bad = bytearray(good)
    bad[FILE_HEADER.size + BLOCK_HEADER.size] ^= 1
    file.write_bytes(bytes(bad))
    assert "set aside" in repair(tmp_path)
    assert read_again(Disk(tmp_path)) is None
    assert (tmp_path / f"{file_name(1)}.cut").read_bytes() == bytes(bad)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "too short"),
        (b"something else entirely", "not a journal"),
        (file_header()[:8] + b"\x63\0\0\0", "version 99"),
        (file_header(), "snapshot"),
    ],
)
def test_what_is_no_journal_is_refused_with_a_reason(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / file_name(1)).write_bytes(content)
    with pytest.raises(JournalCorrupt, match=said):
        Journal(Disk(tmp_path)).open()


def test_a_full_disk_loses_nothing_and_it_goes_on_when_there_is_room() -> None:
    disk = FailingDisk()
    journal = begun(disk)
    journal.commit([b"before"])
    disk.room = 10
    for _ in range(3):
        with pytest.raises(JournalFull):
            journal.commit([b"does not fit" * 3])
    disk.room = None
    journal.commit([b"after"])
    journal.close()
    assert read_again(disk) == [*SNAPSHOT, b"before", b"after"]


def test_no_room_for_a_new_file_leaves_the_old_one_in_use() -> None:
    disk = FailingDisk()
    journal = begun(disk)
    disk.room = 10
    with pytest.raises(JournalFull):
        journal.rotate_file([bytes(100)])
    disk.room = None
    journal.commit([b"after"])
    journal.close()
    assert read_again(disk) == [*SNAPSHOT, b"after"]


def test_the_limit_is_kept() -> None:
    journal = Journal(FailingDisk(), limit_bytes=100)
    journal.open()
    journal.rotate_file([])
    with pytest.raises(JournalFull, match="limit of 100 bytes"):
        journal.commit([bytes(100)])
    journal.commit([b"small"])


def test_a_failed_sync_is_final() -> None:
    disk = FailingDisk()
    journal = begun(disk)
    disk.fail_sync = True
    with pytest.raises(JournalFailed, match="must not go on"):
        journal.commit([b"lost?"])
    disk.fail_sync = False
    with pytest.raises(JournalFailed):
        journal.commit([b"never"])
    with pytest.raises(JournalFailed):
        journal.rotate_file([])
    assert read_again(disk.after_power_failure(0.0)) == SNAPSHOT


def test_a_failed_write_is_final() -> None:
    disk = FailingDisk()
    journal = begun(disk)
    disk.fail_write = True
    with pytest.raises(JournalFailed):
        journal.commit([b"lost?"])


def test_two_processes_cannot_have_one_journal(tmp_path: Path) -> None:
    journal, _ = open_journal(tmp_path)
    program = (
        "import sys; from pathlib import Path\n"
        "from antecede.durability.errors import JournalInUse\n"
        "from antecede.durability.journal import open_journal\n"
        "try: open_journal(Path(sys.argv[1]))\n"
        "except JournalInUse as error: sys.exit(str(error))\n"
    )
    refused = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 1
    assert "in use by another process" in refused.stderr
    with pytest.raises(JournalInUse):
        open_journal(tmp_path)
    journal.close()
    open_journal(tmp_path)[0].close()


def test_contents_are_shown_commit_by_commit(tmp_path: Path) -> None:
    journal = begun(Disk(tmp_path))
    journal.commit([b"a", b"b"])
    journal.close()
    assert [block.records for block in contents(tmp_path)] == [SNAPSHOT, [b"a", b"b"]]
    assert "3 records in 2 commits" in check(tmp_path).sentence()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for content in (data, file_header() + data, file_header() + encode_block(0, []) + data):
        try:
            read_blocks(content, "x")
        except JournalCorrupt:
            continue
