"""The laboratory as an install has it: pure Python, over compiled messaging.

Its classes extend compiled ones, which must be open to that, and its runs are those of the sources.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import antecede

ROOT = Path(__file__).parents[2]

SCRIPT = """
import json
import antecede
from antecede.network_model.faults import Faults
from antecede_lab import build_mode, catalogue
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads.catalogue import TrafficSettings, build_workload

NETWORK = Faults(loss=0.1, duplication=0.1)
found = {"messaging": antecede.compiled(), "laboratory": build_mode.compiled()}

def digest(name, **more):
    info = catalogue.PROTOCOLS[name]
    workload = "broadcast" if info.broadcast_only else "groups" if info.multicast else "poisson"
    traffic = TrafficSettings(processes=4, messages=40, interval_ns=2_000_000, seed=3)
    result = simulate(name, build_workload(workload, traffic), faults=NETWORK, seed=3,
        patience_ns=20_000_000, record=True, **more)
    return result.log.digest()

for name in catalogue.PROTOCOLS:
    found[name] = digest(name, link=True)
found["hybrid on nodes"] = digest("hybrid", host="node")
print(json.dumps(found))
"""


def digests(path: Path) -> dict[str, str | bool]:
    """The runs of every protocol, by what stands in `path`."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, str | bool] = json.loads(ran.stdout)
    return found


@pytest.mark.skipif(not antecede.compiled(), reason="needs compiled messaging below")
def test_every_protocol_runs_as_it_does_from_the_sources(tmp_path: Path) -> None:
    built = Path(antecede.__file__).parents[1]
    for part in [*built.glob("antecede*")]:
        if part.name != "antecede_lab":
            (tmp_path / part.name).symlink_to(part)
    (tmp_path / "antecede_lab").symlink_to(ROOT / "src" / "antecede_lab")

    over_compiled, from_sources = digests(tmp_path), digests(ROOT / "src")

    assert (over_compiled.pop("messaging"), over_compiled.pop("laboratory")) == (True, False)
    assert (from_sources.pop("messaging"), from_sources.pop("laboratory")) == (False, False)
    assert len(over_compiled) > 15
    assert over_compiled == from_sources
