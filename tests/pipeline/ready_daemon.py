"""Spark's daemon of Python workers, with everything imported before the first one is forked.

Spark's own imports nothing, because some package might start a thread, and a fork takes only one
along. So every new worker spends a second on pandas, Arrow and our own modules; and because Spark
has it look for garbage after each task, it goes through all of what it imported again and again.
Here workers are born with their imports, which the collector is told to pass over.

Spark runs this as a program; sessions that tests open in processes of their own do without it.
"""

import gc
import os
import threading

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # The one package that would start threads.

import pandas as pd
import pyarrow.parquet as pq
import pyspark.worker
from pyspark.daemon import manager

from antecede.pipeline.audit import judge
from antecede.pipeline.grow import requests
from antecede.pipeline.ingest import causes, reading, span_tables, spans, ties
from antecede.pipeline.metrics import non_causal
from antecede.pipeline.profile import structure
from antecede.pipeline.sweep import perform

IMPORTED = (
    *(pd, pq, pyspark.worker, judge, requests, causes, reading),
    *(span_tables, spans, ties, non_causal, structure, perform),
)
"""What workers need; the modules of our own are those with functions that Spark calls."""


def main() -> None:
    """Fork workers until Spark is done."""
    assert threading.active_count() == 1, "a fork would lose the others"
    gc.collect()
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
