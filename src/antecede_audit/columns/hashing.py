"""The hash that Spark's `xxhash64` takes of texts: that of the package, with Spark's seed.

Of several columns Spark takes the hash of each with the one before it as its seed, and passes over
those that are null.
"""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from xxhash import xxh64_intdigest

from antecede_audit.columns.arrow_rows import Column, Integers

Words: TypeAlias = npt.NDArray[np.uint64]

SEED: Final = 42
"""What Spark begins with."""

P1: Final = np.uint64(0x9E3779B185EBCA87)
P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
"""The first two primes of xxHash64."""


def hash_texts(texts: Column) -> Integers:
    """The hash of every text in an array of Arrow's, in UTF-8; what is null has that of nothing."""
    values = texts.cast(pa.binary()).to_pylist()
    hashes = (xxh64_intdigest(value or b"", SEED) for value in values)
    return np.fromiter(hashes, np.uint64, len(values)).view(np.int64)


def mix64(value: Words) -> Words:
    """Every word with its bits scrambled, as xxHash64 does it in a round."""
    scrambled = value * P2
    return ((scrambled << np.uint64(31)) | (scrambled >> np.uint64(33))) * P1
