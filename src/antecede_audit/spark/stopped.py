"""Why Spark has stopped by itself, by what it said into its log: which nobody else reads.

Spark starts before it has found its master and its executors, and stops when there are none. What
Python hears of that is only that it has stopped.
"""

import os
import re
from pathlib import Path
from typing import Final

import pyspark

UNRESPONSIVE: Final = "All masters are unresponsive"
REMOVED: Final = re.compile(r"Master removed our application: \w+")
NOT_RUN: Final = re.compile(r"ExecutorRunner: Error running executor\n[\w.$]+: (.*)")
DIRECTORY: Final = re.compile(r' \(in directory "[^"]*"\)')
ENDED: Final = re.compile(r"Executor \S+ removed: (.*)")
APPLICATION: Final = re.compile(r"\bapp-\d+-\d+\b")


def why_stopped(log: Path) -> str | None:
    """Why Spark has stopped, in words that follow a colon; None if its log does not say."""
    try:
        said = log.read_text(errors="replace")
    except OSError:
        return None
    if REMOVED.search(said):
        return f"executors could not be started: {why_no_executor(said)}"
    return "nothing answers there" if UNRESPONSIVE in said else None


def why_no_executor(said: str) -> str:
    """The reason that a worker of this process gave, or where those of others have theirs."""
    given = NOT_RUN.findall(said)
    if given:
        return DIRECTORY.sub("", str(given[-1]))
    application = "".join(APPLICATION.findall(said)[-1:])
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if application and (home / "work" / application).is_dir():
        return f"{home / 'work' / application} has their logs"
    ended = "".join(f" ({reason})" for reason in ENDED.findall(said)[-1:])
    below = f"work/{application}" if application else "work"
    return f"they ended at once{ended}; the folder {below} of every worker has their logs"
