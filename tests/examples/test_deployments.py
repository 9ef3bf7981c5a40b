"""What is meant for other programs: manifests for Kubernetes, a dashboard for Grafana."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antecede.runtime.observe.prometheus import NodeCollector
from antecede.testing import TestNetwork

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
METRIC = re.compile(r"\b(?:antecede|messaging)_[a-z_]+\b(?!=)")
LABELS = {"messaging_client_id", "messaging_system", "messaging_operation_name"}


def metrics_of_a_node() -> set[str]:
    """What a node tells Prometheus, as its queries name it."""
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

    async def collect() -> set[str]:
        async with TestNetwork() as network:
            await network.open_node("bob")
            alice = await network.open_node("alice")
            found = list(NodeCollector(alice).collect())
            return {sample.name for family in found for sample in family.samples}

    return asyncio.run(collect())


def queries(dashboard: dict[str, Any]) -> Iterator[str]:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]
    for variable in dashboard["templating"]["list"]:
        yield variable["query"]


def test_every_query_of_the_dashboard_names_a_metric_that_nodes_have() -> None:
    dashboard = json.loads((EXAMPLES / "grafana" / "antecede.json").read_text(encoding="utf-8"))
    known = metrics_of_a_node()
    named = {name for query in queries(dashboard) for name in METRIC.findall(query)} - LABELS
    assert len(named) > 20
    assert named - known == set()


def test_every_alert_names_a_metric_that_nodes_have() -> None:
    yaml = pytest.importorskip("yaml", reason="the Python package pyyaml is not installed")
    text = (EXAMPLES / "grafana" / "alerts.yaml").read_text(encoding="utf-8")
    rules = [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    known = metrics_of_a_node()
    for rule in rules:
        named = set(METRIC.findall(rule["expr"])) - LABELS
        assert named
        assert named - known == set()
    assert len(rules) == 2


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    dashboard = json.loads((EXAMPLES / "grafana" / "antecede.json").read_text(encoding="utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def manifests() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="the Python package pyyaml is not installed")
    text = (EXAMPLES / "kubernetes" / "shop.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def test_the_manifest_is_what_kubernetes_understands() -> None:
    validator = pytest.importorskip(
        "kubernetes_validate", reason="the Python package kubernetes-validate is not installed"
    )
    for manifest in manifests():
        validator.validate(manifest, "1.30", strict=True)
    broken = manifests()[1]
    broken["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = "nine"
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, "1.30", strict=True)


def test_the_manifest_and_the_program_agree() -> None:
    service, deployment = manifests()
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    program = (EXAMPLES / "kubernetes" / "worker.py").read_text(encoding="utf-8")
    for variable in container["env"]:
        assert f'os.environ["{variable["name"]}"]' in program
    place = next(one["value"] for one in container["env"] if one["name"] == "SERVICE")
    assert place.endswith(f":{service['spec']['ports'][0]['port']}")
    assert place.startswith(f"{service['metadata']['name']}.")
    assert pod["volumes"][0]["secret"]["defaultMode"] == 0o400
    assert container["volumeMounts"][0]["mountPath"] in program
