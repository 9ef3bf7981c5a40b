"""Whether the tables and plots of the documents show what is recorded in `bench/results.toml`.

python -m bench documents           print what differs
python -m bench documents --mend    and put what is recorded in its place
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import comparison_tables, evaluation_images, quoted_tables
from bench.evaluation_images import IMAGES
from bench.two_builds import ROOT


def stale_tables(mend: bool) -> int:
    """How many tables quote other figures than those that are recorded."""
    stale = 0
    for name, (page, make) in quoted_tables.TABLES.items():
        if quoted_tables.quoted(name, ROOT / page) != make():
            stale += 1
            print(f"{page}: the table {name} is not what is recorded")
            if mend:
                quoted_tables.mend(name, ROOT / page)
    return stale


def stale_cells(mend: bool) -> int:
    """How many cells of the comparison's tables are not as recorded."""
    differing = comparison_tables.differences()[1]
    for cell in differing:
        print(f"{comparison_tables.PAGE.name}: {cell.where}: {cell.text}, recorded {cell.mended()}")
    if mend:
        comparison_tables.mend()
    return len(differing)


def stale_images(mend: bool) -> int:
    """How many plots of the evaluation are not drawn from what is recorded."""
    with TemporaryDirectory() as folder:
        evaluation_images.draw(evaluation_images.recorded(), Path(folder))
        stale = [
            file.name
            for file in sorted(Path(folder).iterdir())
            if file.read_bytes() != (IMAGES / file.name).read_bytes()
        ]
    for name in stale:
        print(f"{name} is not drawn from what is recorded")
    if mend and stale:
        evaluation_images.draw(evaluation_images.recorded(), IMAGES)
    return len(stale)


def main() -> None:
    """Check all of them; exits with 1 if something differs and is not mended."""
    parser = argparse.ArgumentParser(prog="python -m bench documents", description=__doc__)
    parser.add_argument("--mend", action="store_true", help="put what is recorded in its place")
    mend = parser.parse_args().mend
    stale = stale_tables(mend) + stale_cells(mend) + stale_images(mend)
    print(f"{stale} differ")
    sys.exit(1 if stale and not mend else 0)


if __name__ == "__main__":
    main()
