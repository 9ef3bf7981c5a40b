"""The build: compiled where it can be, pure Python where it cannot, never beside the sources.

A package of three modules stands in for the whole, so that a build takes seconds; it is built by
the real setup.py and pyproject.toml.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from sysconfig import get_platform
from types import ModuleType

import pytest

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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project with nothing in it but values, their errors and the build mode."""
    folder = tmp_path / "project"
    core = folder / "src" / "antecede" / "core"
    core.mkdir(parents=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("__init__.py", "build_mode.py", "py.typed", "core/values.py", "core/errors.py"):
        shutil.copy(ROOT / "src" / "antecede" / name, folder / "src" / "antecede" / name)
    (core / "__init__.py").write_text('"""A small core."""\n')
    return folder


def build(project: Path, hook: str = "build_wheel", **environment: str) -> "BuiltWheel":
    """What the build front end would do, without its isolation."""
    wheels = project.parent / "wheels"
    wheels.mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, "-c", BUILD.format(hook=hook), str(wheels)],
        cwd=project,
        env=os.environ | {"ANTECEDE_COMPILE": "1"} | environment,
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


def machine_code(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.suffix in (".so", ".pyd", ".c", ".o")]


def test_with_a_compiler_the_hot_layers_are_compiled(project: Path, tmp_path: Path) -> None:
    built = build(project, ANTECEDE_COMPILE="require")
    assert built.said == ["antecede: compiled 2 modules"]
    assert built.libraries() == [
        "antecede/core/errors",
        "antecede/core/values",
        "antecede__mypyc",
    ]
    assert built.mode(tmp_path / "installed") == "True"
    assert machine_code(project) == []
    assert not (project / "build").exists()


@pytest.mark.parametrize(
    "compiler", ["false", pytest.param("no-such-compiler", marks=pytest.mark.long)]
)
def test_without_a_compiler_the_install_succeeds_and_says_so(
    project: Path, tmp_path: Path, compiler: str
) -> None:
    built = build(project, CC=compiler)
    assert built.status == 0
    assert built.is_pure()
    assert built.said[0].startswith("antecede: NOT COMPILED: ")
    assert "pure Python" in built.said[1]
    assert built.mode(tmp_path / "installed") == "False"


def test_source_that_cannot_be_compiled_is_installed_as_it_is(project: Path) -> None:
    values = project / "src" / "antecede" / "core" / "values.py"
    values.write_text(values.read_text() + "\n\nWRONG: int = 'text'\n")
    built = build(project)
    assert built.status == 0
    assert built.is_pure()
    assert built.said[0].startswith("antecede: NOT COMPILED: mypyc refused the sources")


def test_compilation_can_be_required(project: Path) -> None:
    built = build(project, ANTECEDE_COMPILE="require", CC="false")
    assert built.status != 0
    assert built.wheel is None


def test_compilation_can_be_declined(project: Path) -> None:
    built = build(project, ANTECEDE_COMPILE="0", CC="false")
    assert built.status == 0
    assert built.is_pure()
    assert built.said == []


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
    assert build(project, ANTECEDE_COMPILE="0").is_pure()


def test_editable_install_is_never_compiled(project: Path) -> None:
    built = build(project, "build_editable", ANTECEDE_COMPILE="require")
    assert built.status == 0
    assert built.said == ["antecede: editable install: everything stays interpreted"]
    assert built.libraries() == []
    assert machine_code(project) == []


def test_compiled_modules_are_the_hot_layers_without_their_packages() -> None:
    sources = load_setup().compiled_sources(ROOT / "src")
    names = [Path(source).relative_to(ROOT / "src" / "antecede").as_posix() for source in sources]
    folders = {name.partition("/")[0] for name in names}
    assert "core/process.py" in names
    assert "core/protocols/hybrid.py" in names
    assert folders <= {"core", "wire", "link", "sim", "audit", "trace"}
    partly = {name for name in names if name.startswith(("audit/", "trace/"))}
    assert partly <= {"audit/kernel.py", "trace/log.py"}
    assert not [name for name in names if name.endswith("__init__.py")]


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


def load_setup() -> ModuleType:
    """setup.py as a module; it only builds when it is run."""
    spec = spec_from_file_location("antecede_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
