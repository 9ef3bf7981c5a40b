"""Which paths are of this machine, as far as they say so themselves."""

import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from antecede.core.errors import LocalError

THIS_MACHINE: Final = "file"
SETTINGS_ELSEWHERE: Final = ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT")
"""Where these are set, only Spark knows what a path without a scheme means."""


def scheme_of(path: str) -> str:
    """What stands before `:/` in a path; empty if there is nothing."""
    head, colon, rest = path.partition(":")
    return head if colon and rest.startswith("/") and "/" not in head else ""


def local_path(path: str) -> Path:
    """A path of this machine; `LocalError` if only Spark can read it."""
    scheme = scheme_of(path)
    if scheme and scheme != THIS_MACHINE:
        raise LocalError(f"{path} is not on this machine, and only Spark can read it")
    return Path(unquote(urlsplit(path).path)) if scheme else Path(path).absolute()


def is_local_path(path: str) -> bool:
    """Whether a path is one of this machine for certain, while there is no session of Spark's.

    `antecede_audit.spark.storage` asks the session, if there is one.
    """
    return not scheme_of(path) and not any(os.environ.get(name) for name in SETTINGS_ELSEWHERE)
