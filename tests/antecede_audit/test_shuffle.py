"""Rows reach the partition that they were keyed for, packed or handed on."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pytest

from antecede_audit import shuffle
from antecede_audit.columns.arrow_rows import Batch
from antecede_audit.columns.hashing import hash_texts
from antecede_audit.shuffle import (
    Keyed,
    LocalShuffle,
    Table,
    chunks,
    numbered_chunks,
    split,
    whole_partition,
)
from antecede_audit.spans.partitioning import EFFECT_TABLE, SPAN_TABLE, partition_records
from antecede_audit.spans.reading import record_batches
from antecede_audit.spans.schemas import LONG, TEXT, TEXTS, table
from antecede_audit.spark import shuffle as on_spark
from antecede_audit.spark.shuffle import pack_rows, unpack_rows
from tests.antecede_audit.spans.samples import span

ROWS = Table("rows", table(number=LONG, name=TEXT, names=TEXTS))
OTHERS = Table("others", table(number=LONG))


def rows(count: int) -> Batch:
    """Rows in which much is null or empty."""
    columns = [
        pa.array(range(count)),
        pa.array([None if one % 3 == 0 else "x" * (one % 7) for one in range(count)]),
        pa.array([None if one % 4 == 0 else ["a", None][: one % 3] for one in range(count)]),
    ]
    return pa.record_batch(columns, schema=ROWS.schema)


@pytest.mark.parametrize("packed_rows", [1, 7, 1 << 16])
def test_rows_are_in_packed_batches_of_their_partitions(
    packed_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_spark, "PACKED_ROWS", packed_rows)
    found = rows(100)[10:90]
    partition = found["number"].to_numpy() ** 2 % 5
    packed = list(pack_rows(Keyed(ROWS, found, partition)))
    unpacked = list(unpack_rows(packed, [ROWS]))
    by_partition = list(numbered_chunks(unpacked))

    assert [number for number, _ in by_partition] == sorted(set(partition.tolist()))
    for number, one in by_partition:
        assert one.to_pylist() == found.filter(pa.array(partition == number)).to_pylist()
    sizes = [keyed.rows.num_rows for keyed in unpacked]
    assert sum(sizes) == 80
    assert max(sizes) <= packed_rows


def test_no_rows_make_no_packed_batch_and_are_found_again() -> None:
    nothing = rows(0)

    assert list(pack_rows(Keyed(ROWS, nothing, np.zeros(0, np.int64)))) == []
    assert list(pack_rows(Keyed(ROWS, nothing))) == []
    assert list(chunks([])) == []
    assert whole_partition([], ROWS) == (0, [nothing])


def test_rows_in_this_process_are_exchanged_in_their_order() -> None:
    """Several keys in a row come to one partition."""
    tables = [Keyed(ROWS, rows(60), np.arange(60) % 6), Keyed(OTHERS, rows(5).select(["number"]))]
    found = LocalShuffle([tables[:1], tables[1:]]).exchange([ROWS, OTHERS], 3, 6)
    seen: list[tuple[int, list[int], int]] = []

    def look(partition: Iterable[Keyed]) -> Iterator[Keyed]:
        number, (one, other) = whole_partition(partition, ROWS, OTHERS)
        seen.append((number, one["number"].to_pylist(), other.num_rows))
        yield Keyed(ROWS, one, number)

    made = found.map(look).collect(ROWS)[0]

    expected = [sorted(range(key, 60, 6)) + sorted(range(key + 1, 60, 6)) for key in (0, 2, 4)]
    assert seen == list(zip((0, 1, 2), expected, (5, 0, 0), strict=True))
    assert sorted(made["number"].to_pylist()) == list(range(60))


def test_one_partition_in_this_process_gets_the_very_batches_that_were_keyed() -> None:
    batch = rows(50)
    moved = LocalShuffle([[Keyed(ROWS, batch, np.arange(50) % 7)]]).exchange([ROWS], 1)

    assert moved.collect(ROWS)[0] is batch


def test_chunks_are_cut_and_joined_to_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "CHUNK_ROWS", 10)
    batch = rows(44)
    given = [Keyed(ROWS, batch[begin:end]) for begin, end in ((0, 3), (3, 5), (5, 40), (40, 44))]
    found = list(chunks(given))

    assert [number for one in found for number in one["number"].to_pylist()] == list(range(44))
    assert all(10 <= one.num_rows < 20 for one in found[:-1])


def test_rows_for_one_partition_are_not_copied() -> None:
    batch = rows(50)
    [(number, same)] = split(Keyed(ROWS, batch, np.full(50, 4)))

    assert number == 4
    assert same["number"].buffers()[1].address == batch["number"].buffers()[1].address


def test_hashes_do_not_depend_on_how_texts_lie() -> None:
    texts = ["", "a", "trace/span", None, "Grüße", "b" * 49, "c" * 32, "d" * 32, "e" * 100]
    together = hash_texts(pa.array(texts)).tolist()

    assert together == hash_texts(pa.array([text or "" for text in texts])).tolist()
    assert hash_texts(pa.array(texts)[3:7]).tolist() == together[3:7]
    assert hash_texts(pa.array(texts)[6:8]).tolist() == together[6:8]
    assert hash_texts(pa.array([None, None], pa.string())).tolist() == [together[0]] * 2


@pytest.mark.parametrize("slash", ["", "/"])
def test_what_is_linked_goes_where_its_cause_is(slash: str) -> None:
    """Also if an id has the character that stands between ids."""
    causes = [span(f"{place}{slash}", trace=f"t{slash}{place}") for place in range(50)]
    effects = [
        span("e", trace=f"u{place}", links=[f"{one.trace}/{one.span}"])
        for place, one in enumerate(causes)
    ]
    records = [(0, place, "file", one) for place, one in enumerate(causes + effects)]
    made = list(partition_records(record_batches(records), 7))
    place_of: dict[str, int] = {}
    for wanted, name in ((SPAN_TABLE, "trace"), (EFFECT_TABLE, "link")):
        for keyed in made:
            if keyed.table == wanted:
                for number, some in split(keyed):
                    place_of |= dict.fromkeys(some[name].to_pylist(), number)

    assert len({place_of[one.trace] for one in causes}) == (1 if slash else 7)
    for one in causes:
        assert place_of[one.trace] == place_of[f"{one.trace}/{one.span}"]
