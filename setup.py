"""Compiles with mypyc what runs for every message, because that makes it several times faster.

`pip install .` and the wheel of a release compile `INSTALLED`: of `antecede` all that does no I/O,
and of `antecede_audit` the kernel that judges event logs. A repository's own build (`make`) sets
`ANTECEDE_COMPILE=all` and also compiles `LABORATORY`, in the same group, so that calls between the
two are direct; elsewhere the laboratory is pure Python over compiled messaging. Runtime, Spark's
stages and command line are interpreted everywhere. The rest of the packaging is in pyproject.toml.

`ANTECEDE_COMPILE` says what to compile:

- unset: what an install needs, if it can be; otherwise pure Python is installed, and the reason is
  left for `antecede --version` to show
- `require`: the same, and a failure to compile is a failure to install
- `all`: everything, or fail
- `no`: nothing

An editable install is never compiled: an extension module beside the sources would shadow every
later edit of them. `ANTECEDE_OPTIMIZE` is the level of the C compiler, 3 if unset; with 0 it builds
in a third of the time, for tests.
"""

import atexit
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from pathlib import Path
from typing import cast

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

SOURCE = Path("src")

INSTALLED = (
    "antecede/core/**/*.py",
    "antecede/wire/**/*.py",
    "antecede/groups/**/*.py",
    "antecede/transport/**/*.py",
    "antecede/membership/**/*.py",
    "antecede/endpoint/**/*.py",
    "antecede/network_model/**/*.py",
    "antecede/durability/losses.py",
    "antecede/durability/node_state.py",
    "antecede/durability/record_kinds.py",
    "antecede/durability/recorder.py",
    "antecede/durability/unconfirmed.py",
    "antecede/eventlog/log.py",
    "antecede/events.py",
    "antecede/units.py",
    "antecede_audit/judging/kernel.py",
)

LABORATORY = (
    "antecede_lab/catalogue.py",
    "antecede_lab/checker/*.py",
    "antecede_lab/protocols/**/*.py",
    "antecede_lab/simulator/**/*.py",
    "antecede_lab/wire/**/*.py",
)

GROUP = "antecede"
"""Names the shared library, `antecede__mypyc`, that all compiled modules live in."""

INLINED = {
    "max-inline-insns-auto": 120,
    "max-inline-insns-single": 200,
    "inline-min-speedup": 5,
    "inline-unit-growth": 80,
}
"""How much gcc inlines: translated code is long, and most of it deals with errors."""

REASON = Path("antecede/not_compiled.txt")
"""Where an interpreted package says why it is one; `antecede/build_mode.py` reads it."""


def compiled_sources(source: Path, patterns: tuple[str, ...]) -> list[str]:
    """The files to compile, in a fixed order; packages stay interpreted, they only re-export."""
    files = {file for pattern in patterns for file in source.glob(pattern)}
    return sorted(str(file) for file in files if file.name != "__init__.py")


def sources() -> list[str]:
    """The files that this build compiles."""
    patterns = INSTALLED + LABORATORY if compile_mode() == "all" else INSTALLED
    return compiled_sources(SOURCE, patterns)


def compile_mode() -> str:
    """What `ANTECEDE_COMPILE` asks for: "", "require", "all" or "no"."""
    mode = os.environ.get("ANTECEDE_COMPILE", "")
    mode = {"0": "no", "1": ""}.get(mode, mode)  # as they were called up to version 0.2
    if mode not in ("", "require", "all", "no"):
        sys.exit(f"ANTECEDE_COMPILE is {mode!r}; it must be require, all or no")
    return mode


def optimisation() -> str:
    """What `ANTECEDE_OPTIMIZE` asks for: a level of the C compiler."""
    level = os.environ.get("ANTECEDE_OPTIMIZE", "3")
    if level not in ("0", "1", "2", "3"):
        sys.exit(f"ANTECEDE_OPTIMIZE is {level!r}; it must be 0, 1, 2 or 3")
    return level


def fresh_folder() -> str:
    """A new folder that is gone when the build is over, so that no build sees an earlier one."""
    folder = tempfile.mkdtemp(prefix="antecede-build-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def translate() -> list[Extension]:
    """Type-check the sources to compile and translate them to C."""
    # Late, because it is needed neither for metadata nor for an install that stays interpreted.
    from mypyc.build import mypycify

    # What other layers import, extras among it, need not be there when the hot ones are compiled.
    options = ["--config-file=", "--cache-dir=" + os.devnull, "--ignore-missing-imports"]
    extensions = mypycify(
        options + sources(),
        opt_level=optimisation(),
        debug_level="0",
        group_name=GROUP,
        target_dir=fresh_folder(),
    )
    for extension in extensions:
        flags = extension.extra_compile_args
        if "-Werror" in flags:
            # Warnings about generated code help nobody, must not stop the build of a newer gcc, and
            # looking for them (the flags Python hands on include -Wall) takes half of its time.
            kept = [flag for flag in flags if flag != "-Werror"]
            extension.extra_compile_args = [*kept, "-Wno-all", "-w"]
        if extension.name.endswith("__mypyc"):
            # The one library with all the code; the other extensions only point into it.
            extension.extra_compile_args += across_files()
            extension.extra_link_args += across_files()
    return cast(list[Extension], extensions)


def across_files() -> list[str]:
    """What makes gcc inline mypyc's runtime into our code, and more of our code into itself."""
    if optimisation() != "3" or not is_gcc():
        return []
    flags = ["-O3", "-flto=2", "-fno-fat-lto-objects", "-fno-semantic-interposition"]
    # Nobody calls into the library by name, nor does it need a stub for each of Python's functions.
    flags += ["-fvisibility=hidden", "-fno-plt"]
    return [*flags, *(f"--param={name}={value}" for name, value in INLINED.items())]


def is_gcc() -> bool:
    """Whether the C compiler is gcc, which has more to offer."""
    words = [*compiler().split(), "--version"]
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return "Free Software Foundation" in said.stdout


def compiler() -> str:
    """The C compiler that builds extensions."""
    return os.environ.get("CC", sysconfig.get_config_var("CC") or "cc")


class FreshBuild(build):
    """Builds in a fresh folder: a stale one would put old extension modules into a new wheel."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = fresh_folder()

    def run(self) -> None:
        super().run()
        if compile_mode() == "no":
            leave_reason(self.build_lib, "ANTECEDE_COMPILE was 'no' when it was installed")


class CompileIfPossible(build_ext):
    """Compiles these sources, or explains on standard error why they stay interpreted."""

    def run(self) -> None:
        if self.editable_mode or self.inplace:
            self.extensions = []
            say("editable install: everything stays interpreted")
            return
        try:
            self.compile()
        except (Exception, SystemExit) as error:
            if compile_mode() in ("require", "all"):
                raise
            self.fall_back(error)

    trying = False

    def try_compiler(self) -> None:
        """Compile nothing but Python's header: where that fails, translating would be in vain."""
        self.trying = True
        super().run()
        self.trying = False

    def build_extensions(self) -> None:
        """Build the extensions, or what stands for them while the compiler is tried."""
        if not self.trying:
            self.precompile_header()
            super().build_extensions()
            return
        source = Path(fresh_folder(), "header.c")
        source.write_text("#include <Python.h>\n", encoding="utf-8")
        try:
            self.compiler.compile([str(source)], output_dir=str(source.parent))
        except Exception as error:
            raise RuntimeError(f"{compiler()} cannot compile what includes Python.h") from error

    def precompile_header(self) -> None:
        """Read Python's header once, not for each of some two hundred modules that only point into
        the library: they compile in a third of the time.

        gcc takes it where the flags are the same, and elsewhere reads the header itself.
        """
        if not is_gcc():
            return
        folder = fresh_folder()
        words = [*self.compiler.compiler_so, *self.extensions[-1].extra_compile_args]
        header = Path(sysconfig.get_path("include"), "Python.h")
        words += ["-x", "c-header", str(header), "-o", str(Path(folder, "Python.h.gch"))]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            self.compiler.include_dirs.insert(0, folder)

    def compile(self) -> None:
        """Replace the placeholder by the real extensions and build them."""
        self.try_compiler()
        self.distribution.ext_modules = list(translate())
        self.reinitialize_command(self)
        self.ensure_finalized()
        self.parallel = os.cpu_count()
        super().run()
        say(f"compiled {len(sources())} modules")

    def fall_back(self, error: BaseException) -> None:
        """Take back whatever was compiled before the failure, and make the wheel a pure one."""
        for output in self.get_outputs():
            Path(output).unlink(missing_ok=True)
        self.extensions = []
        self.distribution.ext_modules = []
        wheel = self.distribution.command_obj.get("bdist_wheel")
        if wheel is not None:
            wheel.root_is_pure = True  # type: ignore[attr-defined]
        leave_reason(self.build_lib, reason_of(error))
        say(
            f"NOT COMPILED: {reason_of(error)}\n"
            "antecede: installing pure Python instead: same behaviour, several times slower.\n"
            "antecede: with a C compiler and Python's headers present, install again to compile."
        )


def reason_of(error: BaseException) -> str:
    """Why the compilation failed, in one line."""
    if isinstance(error, SystemExit):
        return "mypyc refused the sources, for the reasons above"
    return textwrap.shorten(str(error), 160) or type(error).__name__


def leave_reason(build_lib: str, reason: str) -> None:
    """Put into the package why it is not compiled."""
    place = Path(build_lib, REASON)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(reason + "\n", encoding="utf-8")


def say(text: str) -> None:
    """Tell the person who installs; pip shows it with --verbose."""
    print(f"antecede: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    setup(
        # A placeholder: this package has extensions, but which ones is known when they are built.
        ext_modules=[] if compile_mode() == "no" else [Extension(GROUP, sources=[])],
        cmdclass={"build": FreshBuild, "build_ext": CompileIfPossible},
    )
