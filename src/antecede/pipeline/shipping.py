"""Takes this very package to executors that do not share the driver's files.

A zip on the path of Python would do for sources, but extension modules cannot be imported from one.
So the package travels as an archive that Spark unpacks, and the shared library of the compiled
build, which is a module beside the package, as a file: Spark puts both into the one folder that
every worker has on its path. A worker whose Python the library does not fit finds the sources.
"""

import tempfile
import zipfile
from pathlib import Path
from typing import Final

from pyspark import SparkContext

import antecede

PACKAGE: Final = "antecede"


def package_folder() -> Path:
    """Where the running package is."""
    return Path(antecede.__file__).parent


def ship_package(context: SparkContext, scratch: Path) -> None:
    """Put the running package onto the path of every Python worker of this application."""
    folder = package_folder()
    for library in sorted(folder.parent.glob(f"{PACKAGE}__mypyc*.so")):
        context.addFile(str(library))
    context.addArchive(f"{packed_package(folder, scratch)}#{PACKAGE}")


def packed_package(folder: Path, scratch: Path) -> Path:
    """A zip of the package's own files, those that compiling left behind not included."""
    with tempfile.NamedTemporaryFile(
        dir=scratch, prefix=f"{PACKAGE}-", suffix=".zip", delete=False
    ) as file:
        archive = Path(file.name)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for source in sorted(folder.rglob("*")):
            if source.is_file() and "__pycache__" not in source.parts:
                packed.write(source, source.relative_to(folder))
    return archive
