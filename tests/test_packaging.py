"""The build: compiled where it can be, pure Python where it cannot, never beside the sources.

A package of three modules stands in for the whole, so that a build takes seconds; it is built by
the real setup.py and pyproject.toml.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from sysconfig import get_platform
from types import ModuleType

import pytest
import yaml

import antecede

ROOT = Path(__file__).parent.parent

BUILD = "import sys; from setuptools import build_meta; build_meta.{hook}(sys.argv[1])"


def test_the_source_archive_has_no_half_of_the_tests(tmp_path: Path) -> None:
    """Left to itself, setuptools takes some of the files there and none of what they import."""
    folder = tmp_path / "project"
    files = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
    for name in (*files, "tests/test_documents.py", "src/antecede/py.typed"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    script = BUILD.format(hook="build_sdist")
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=folder, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert "src/antecede/py.typed" in names
    assert "LICENSE" in names
    assert [name for name in names if name.startswith("tests")] == []


LABORATORY = '''"""A packet."""

from antecede.core.values import Packet


class Wave(Packet):
    """A packet that says nothing."""
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project with only values, their errors and how it was installed; and a module
    of the laboratory that extends a value."""
    folder = tmp_path / "project"
    core = folder / "src" / "antecede" / "core"
    core.mkdir(parents=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    front = ("build_mode.py", "installing.py", "py.typed", "version.py")
    for name in (*front, "core/packets.py", "core/errors.py"):
        shutil.copy(ROOT / "src" / "antecede" / name, folder / "src" / "antecede" / name)
    (core / "__init__.py").write_text('"""A small core."""\n')
    (folder / "src" / "antecede_lab" / "wire").mkdir(parents=True)
    for package in ("antecede_lab", "antecede_lab/wire"):
        (folder / "src" / package / "__init__.py").write_text('"""A small laboratory."""\n')
    (folder / "src" / "antecede_lab" / "wire" / "codec.py").write_text(LABORATORY)
    (core.parent / "__init__.py").write_text(front_door(), encoding="utf-8")
    return folder


def front_door() -> str:
    """Without what it names for type checkers: they would follow it into the whole package, which
    is installed here, and a build of three modules would take as long as one of all."""
    text = (ROOT / "src" / "antecede" / "__init__.py").read_text(encoding="utf-8")
    before, found, after = text.partition("if TYPE_CHECKING:\n")
    assert found
    return before + after.partition("\n\n")[2]


def build(project: Path, hook: str = "build_wheel", **environment: str) -> "BuiltWheel":
    """What the build front end would do, without its isolation."""
    wheels = project.parent / "wheels"
    wheels.mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, "-c", BUILD.format(hook=hook), str(wheels)],
        cwd=project,
        env=os.environ | {"ANTECEDE_COMPILE": ""} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return BuiltWheel(ran, sorted(wheels.glob("*.whl"), key=lambda file: file.stat().st_mtime_ns))


class BuiltWheel:
    """The outcome of a build."""

    def __init__(self, ran: "subprocess.CompletedProcess[str]", wheels: list[Path]) -> None:
        self.status = ran.returncode
        self.said = [line for line in ran.stderr.splitlines() if line.startswith("antecede:")]
        self.wheel = wheels[-1] if wheels else None

    def names(self) -> list[str]:
        assert self.wheel is not None
        return zipfile.ZipFile(self.wheel).namelist()

    def libraries(self) -> list[str]:
        """The modules in the wheel that are machine code, without the platform's suffix."""
        return sorted(name.partition(".")[0] for name in self.names() if name.endswith(".so"))

    def is_pure(self) -> bool:
        assert self.wheel is not None
        return self.wheel.name.endswith("-py3-none-any.whl") and not self.libraries()

    def mode(self, folder: Path) -> str:
        """Unpack into `folder` and ask the package itself."""
        assert self.wheel is not None
        zipfile.ZipFile(self.wheel).extractall(folder)
        ran = subprocess.run(
            [
                sys.executable,
                "-c",
                "import antecede; print(antecede.compiled(), antecede.__file__)",
            ],
            env=os.environ | {"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        answer, _, file = ran.stdout.strip().partition(" ")
        assert Path(file).is_relative_to(folder)
        return answer


IN_USE = """
from antecede.build_mode import warn_if_fallen_back, why_interpreted
print(why_interpreted(), flush=True)
warn_if_fallen_back()
warn_if_fallen_back()
"""


def said_in_use(installed: Path) -> list[str]:
    """Why a package is not compiled, and what opening nodes would warn of."""
    ran = subprocess.run(
        [sys.executable, "-c", IN_USE],
        env=os.environ | {"PYTHONPATH": str(installed)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return ran.stdout.splitlines()


def machine_code(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.suffix in (".so", ".pyd", ".c", ".o")]


def test_an_install_compiles_messaging_alone(project: Path, tmp_path: Path) -> None:
    built = build(project)
    assert built.said == ["antecede: compiled 2 modules"]
    assert built.libraries() == [
        "antecede/core/errors",
        "antecede/core/packets",
        "antecede__mypyc",
    ]
    assert built.mode(tmp_path / "installed") == "True"
    assert said_in_use(tmp_path / "installed") == [""]
    assert machine_code(project) == []
    assert not (project / "build").exists()


def test_the_build_of_the_repository_compiles_the_laboratory_too(project: Path) -> None:
    built = build(project, ANTECEDE_COMPILE="all", ANTECEDE_OPTIMIZE="0")
    assert built.said == ["antecede: compiled 3 modules"]
    assert built.libraries() == [
        "antecede/core/errors",
        "antecede/core/packets",
        "antecede__mypyc",
        "antecede_lab/wire/codec",
    ]


def test_an_extra_that_the_build_does_not_have_is_no_obstacle(project: Path) -> None:
    """A build environment has what building needs; the sources also name what extras bring."""
    file = project / "src" / "antecede" / "__init__.py"
    lines = file.read_text(encoding="utf-8")
    wanted = "from typing import TYPE_CHECKING, Final\n"
    assert wanted in lines
    extra = "if TYPE_CHECKING:\n    import no_such_extra\n"
    file.write_text(lines.replace(wanted, wanted + extra), encoding="utf-8")
    built = build(project, ANTECEDE_COMPILE="require", ANTECEDE_OPTIMIZE="0")
    assert built.said == ["antecede: compiled 2 modules"]


@pytest.mark.parametrize(
    "compiler", ["false", pytest.param("no-such-compiler", marks=pytest.mark.long)]
)
def test_without_a_compiler_the_install_succeeds_and_says_so(
    project: Path, tmp_path: Path, compiler: str
) -> None:
    built = build(project, CC=compiler)
    assert built.status == 0
    assert built.is_pure()
    assert built.said[0].startswith(f"antecede: NOT COMPILED: {compiler} cannot compile")
    assert "pure Python" in built.said[1]
    assert built.mode(tmp_path / "installed") == "False"
    reason, *warnings = said_in_use(tmp_path / "installed")
    assert reason in built.said[0]
    assert len(warnings) == 1
    assert reason in warnings[0]


def test_source_that_cannot_be_compiled_is_installed_as_it_is(project: Path) -> None:
    packets = project / "src" / "antecede" / "core" / "packets.py"
    packets.write_text(packets.read_text() + "\n\nWRONG: int = 'text'\n")
    built = build(project)
    assert built.status == 0
    assert built.is_pure()
    assert built.said[0].startswith("antecede: NOT COMPILED: mypyc refused the sources")


@pytest.mark.parametrize("wish", ["require", "all"])
def test_compilation_can_be_required(project: Path, wish: str) -> None:
    built = build(project, ANTECEDE_COMPILE=wish, CC="false")
    assert built.status != 0
    assert built.wheel is None


def test_compilation_can_be_declined(project: Path, tmp_path: Path) -> None:
    built = build(project, ANTECEDE_COMPILE="no", CC="false")
    assert built.status == 0
    assert built.is_pure()
    assert built.said == []
    assert built.mode(tmp_path / "installed") == "False"
    assert said_in_use(tmp_path / "installed") == [
        "ANTECEDE_COMPILE was 'no' when it was installed"
    ]


def test_unknown_wish_is_refused(project: Path) -> None:
    built = build(project, ANTECEDE_COMPILE="maybe")
    assert built.status != 0
    assert built.wheel is None


def test_left_overs_of_an_earlier_build_do_not_reach_the_wheel(project: Path) -> None:
    platform = f"lib.{get_platform()}-{sys.implementation.cache_tag}"
    for folder in ("lib", platform):
        left_over = project / "build" / folder / "antecede" / "core" / "values.so"
        left_over.parent.mkdir(parents=True)
        left_over.write_text("")
    assert build(project, CC="false").is_pure()
    assert build(project, ANTECEDE_COMPILE="no").is_pure()


def test_editable_install_is_never_compiled(project: Path) -> None:
    built = build(project, "build_editable", ANTECEDE_COMPILE="require")
    assert built.status == 0
    assert built.said == ["antecede: editable install: everything stays interpreted"]
    assert built.libraries() == []
    assert machine_code(project) == []


HOT = {
    *("antecede/core", "antecede/durability", "antecede/endpoint", "antecede/eventlog"),
    *("antecede/events.py", "antecede/groups", "antecede/membership", "antecede/network_model"),
    *("antecede/transport", "antecede/units.py", "antecede/wire", "antecede_audit/judging"),
}
"""Folders, and files on their own, that an install compiles in whole or in part."""


def test_compiled_modules_are_the_hot_layers_without_their_packages() -> None:
    setup = load_setup()
    installed, laboratory = (
        [
            Path(source).relative_to(ROOT / "src").as_posix()
            for source in setup.compiled_sources(ROOT / "src", patterns)
        ]
        for patterns in (setup.INSTALLED, setup.LABORATORY)
    )
    assert "antecede/core/process.py" in installed
    assert "antecede/core/hybrid/rule.py" in installed
    assert {"/".join(name.split("/")[:2]) for name in installed} <= HOT
    partly = {
        name for name in installed if name.startswith(("antecede_audit/", "antecede/eventlog/"))
    }
    assert partly <= {"antecede_audit/judging/kernel.py", "antecede/eventlog/log.py"}
    assert len(laboratory) > 10
    assert {name.partition("/")[0] for name in laboratory} == {"antecede_lab"}
    assert not [name for name in installed + laboratory if name.endswith("__init__.py")]


def test_a_release_is_optimised_and_a_build_for_tests_need_not_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = load_setup()
    monkeypatch.delenv("ANTECEDE_OPTIMIZE", raising=False)
    assert module.optimisation() == "3"
    monkeypatch.setenv("ANTECEDE_OPTIMIZE", "0")
    assert module.optimisation() == "0"
    assert module.across_files() == []
    monkeypatch.setenv("ANTECEDE_OPTIMIZE", "fast")
    with pytest.raises(SystemExit, match="it must be 0, 1, 2 or 3"):
        module.optimisation()


def test_who_uses_it_is_offered_no_tools_of_those_who_work_on_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = settings["project"]["optional-dependencies"]
    assert {"dev", "docs", "bench"} <= settings["dependency-groups"].keys()
    assert not {"dev", "docs", "bench"} & extras.keys()
    named = extras["all"][0].removeprefix("antecede[").removesuffix("]").split(",")
    assert named == sorted(extras.keys() - {"all"})


def test_exact_versions_stand_in_the_constraints_only() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    requirements = [line for line in text.splitlines() if "platform_system" not in line]
    assert [line for line in requirements if "==" in line.partition("#")[0]] == []
    pinned = {line.partition("==")[0] for line in constraints()}
    assert {"librt", "mypy", "pip", "setuptools"} <= pinned


def constraints() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_a_release_whose_tag_or_addresses_are_not_true_is_refused() -> None:
    check = load("release_check", ROOT / ".ci" / "release_check.py")
    wrong = check.complaints("v0.0.7")
    assert wrong[0] == f"the tag is v0.0.7, the version is {antecede.__version__}"
    assert "pyproject.toml has no address called Repository" in wrong
    assert "the tag" not in check.complaints(f"v{antecede.__version__}")[0]


OFFER = re.compile(r"""pip install[^\n`]*[ '"]antecede(?:\[|[ '"`;.,]|$)""", re.MULTILINE)


def test_nothing_is_offered_that_no_index_has() -> None:
    """Whoever registered the name there would be installed instead."""
    assert OFFER.search("pip install 'antecede[lab]'")
    assert OFFER.search("pip install --no-binary antecede antecede")
    assert not OFFER.search("in a checkout of antecede: pip install '.[lab]'")
    kinds = {".md", ".py", ".toml", ".ipynb", ".yaml", ".yml", ".txt"}
    folders = ("src", "docs", "examples", "bench", ".github")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*")]
    files += [*ROOT.glob("*.md"), *ROOT.glob("*.toml")]
    texts = [file for file in files if file.suffix in kinds and file.name != "CHANGELOG.md"]
    assert len(texts) > 500
    found = []
    for file in texts:
        text = file.read_text(encoding="utf-8")
        if OFFER.search(text) or "antecede.example" in text:
            found.append(file.relative_to(ROOT).as_posix())
    assert found == []


def test_the_extra_for_opentelemetry_runs_what_its_page_shows() -> None:
    page = (ROOT / "docs/operations/opentelemetry.md").read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "from opentelemetry.sdk" in page
    named = settings["project"]["optional-dependencies"]["otel"]
    assert [one.partition(">")[0] for one in named] == ["opentelemetry-api", "opentelemetry-sdk"]


WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_workflows_are_what_they_should_be(workflow: Path) -> None:
    """Judged by the schema that comes with the validator: no network is needed."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is in the group workflows")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    for schema, fits in (("vendor.github-workflows", True), ("vendor.dependabot", False)):
        ran = subprocess.run([*command, schema, str(workflow)], capture_output=True, text=True)
        assert (ran.returncode == 0) is fits, ran.stdout + ran.stderr


def test_what_workflows_run_is_there() -> None:
    jobs = [yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"] for file in WORKFLOWS]
    steps = [step for of_one in jobs for job in of_one.values() for step in job["steps"]]
    scripts = [word for step in steps for word in step.get("run", "").split() if ".ci/" in word]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    scripts += [settings["tool"]["cibuildwheel"]["test-command"].split()[1]]
    assert {".ci/run", ".ci/release_check.py", "{project}/.ci/smoke.py"} == set(scripts)
    for script in scripts:
        assert (ROOT / script.removeprefix("{project}/")).is_file()


def test_pull_requests_are_tested_as_everything_else_is() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert "pull_request" in workflow[True]  # YAML 1.1 reads `on` as true
    assert [step for step in workflow["jobs"]["test"]["steps"] if step.get("run") == "bash .ci/run"]


def test_a_release_is_attested_and_needs_no_password() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"]["id-token"] == "write"
    assert set(publish["needs"]) == workflow["jobs"].keys() - {"publish"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


def load_setup() -> ModuleType:
    """setup.py as a module; it only builds when it is run."""
    return load("antecede_setup", ROOT / "setup.py")


def load(name: str, file: Path) -> ModuleType:
    """A program outside every package, as a module."""
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
