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
from importlib import import_module

from pyspark.daemon import manager

JOBS = (
    *(f"antecede_audit.spark.{name}" for name in ("audit", "ingest", "measure")),
    *("antecede_lab.grow.grow", "antecede_lab.sweep.sweep"),
)

IMPORTED = (
    *("pandas", "pyarrow.parquet", "pyspark.worker"),
    *JOBS,
)
"""What workers need; of our own modules those with functions that Spark calls, and more."""


def main() -> None:
    """Fork workers until Spark is done."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # Or numpy would start threads.
    for name in IMPORTED:
        import_module(name)
    assert threading.active_count() == 1, "a fork would lose the others"
    gc.collect()
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
