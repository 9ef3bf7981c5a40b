"""What is packed comes out again, where it was meant to go."""

import numpy as np
import pyarrow as pa
import pytest

from antecede_audit import parcels
from antecede_audit.columns.arrow_rows import Batch
from antecede_audit.columns.hashing import hash_texts
from antecede_audit.parcels import keyed, parcels_of_one, row_chunks, tables_of_partition
from antecede_audit.spans.partitioning import (
    ALL_OF_A_SPAN,
    EFFECT,
    EFFECTS,
    SPAN_SORT,
    partition_records,
)
from antecede_audit.spans.reading import record_batches
from antecede_audit.spans.schemas import LONG, TEXT, TEXTS, table
from tests.antecede_audit.spans.samples import span

ROWS = table(number=LONG, name=TEXT, names=TEXTS)


def rows(count: int) -> Batch:
    """Rows in which much is null or empty."""
    columns = [
        pa.array(range(count)),
        pa.array([None if one % 3 == 0 else "x" * (one % 7) for one in range(count)]),
        pa.array([None if one % 4 == 0 else ["a", None][: one % 3] for one in range(count)]),
    ]
    return pa.record_batch(columns, schema=ROWS)


@pytest.mark.parametrize("rows_of_a_parcel", [1, 7, 1 << 16])
def test_rows_are_in_the_parcels_of_their_buckets(
    rows_of_a_parcel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parcels, "PARCEL_ROWS", rows_of_a_parcel)
    found = rows(100)[10:90]
    bucket = found["number"].to_numpy() ** 2 % 5
    packed = list(keyed("some", found, bucket))
    by_bucket = [(place, one) for place, one in row_chunks(packed, ROWS)]

    assert [place for place, _ in by_bucket] == sorted(set(bucket.tolist()))
    for place, one in by_bucket:
        assert one.to_pylist() == found.filter(pa.array(bucket == place)).to_pylist()
    sizes = [one.num_rows for parcel in packed for one in opened(parcel)]
    assert sum(sizes) == 80
    assert max(sizes) <= rows_of_a_parcel


def opened(packed: Batch) -> list[Batch]:
    """What is in each of these parcels."""
    pieces = (packed[place : place + 1] for place in range(packed.num_rows))
    return [one for piece in pieces for _, one in row_chunks([piece], ROWS)]


def test_nothing_makes_no_parcel_and_is_found_again() -> None:
    nothing = rows(0)

    assert list(keyed("some", nothing, np.zeros(0, np.int64))) == []
    assert list(parcels_of_one("some", nothing)) == []
    assert list(row_chunks([], ROWS)) == []
    assert tables_of_partition([], {"some": ROWS}) == (0, {"some": nothing})


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
    packed = pa.Table.from_batches(partition_records(record_batches(records), 7))
    place_of: dict[str, int] = {}
    for sort, schema, name in ((SPAN_SORT, ALL_OF_A_SPAN, "trace"), (EFFECT, EFFECTS, "link")):
        wanted = packed.filter(pa.compute.equal(packed["sort"], sort)).to_batches()
        for bucket, some in row_chunks(wanted, schema):
            place_of |= dict.fromkeys(some[name].to_pylist(), bucket)

    assert len({place_of[one.trace] for one in causes}) == (1 if slash else 7)
    for one in causes:
        assert place_of[one.trace] == place_of[f"{one.trace}/{one.span}"]
