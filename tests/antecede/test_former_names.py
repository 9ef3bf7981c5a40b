"""Former names of packages: everything that they offered is still to be had, with a warning."""

from importlib import import_module
from pathlib import Path

import pytest

from antecede import events
from antecede.runtime.config.settings import Settings, gather_settings
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.observe import http_server, prometheus

PACKAGES = ("antecede.trace", "antecede.audit", "antecede.pipeline")


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_former_package_offered_is_found_where_it_is_now(package: str) -> None:
    former = import_module(package)
    assert former.HOMES
    for name, home in former.HOMES.items():
        with pytest.warns(DeprecationWarning, match=f"{package}.{name} is {home.split(':')[0]}."):
            assert getattr(former, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_what_it_never_offered_is_not(package: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        import_module(package).nonsense  # noqa: B018 - the look is the test


@pytest.mark.parametrize("name", list(prometheus.HOMES))
def test_the_server_of_metrics_is_still_found_beside_the_figures(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{name} is {prometheus.HOMES[name]}."):
        found = getattr(prometheus, name)
    assert found is getattr(http_server, name)


@pytest.mark.parametrize(
    ("former", "present"), [("Refused", "PeerRefused"), ("Stranger", "StrangerSeen")]
)
def test_an_event_is_still_found_by_its_former_name(former: str, present: str) -> None:
    assert getattr(events, former) is getattr(events, present)


def test_a_setting_is_still_read_by_its_former_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "node.toml"
    file.write_text("[node]\nname = 'ann'\nstay_awake = false\n")
    environment = {"ANTECEDE_NAME": "ann", "ANTECEDE_STAY_AWAKE": "no"}
    said = "the setting 'stay_awake' (from {}) is called 'busy_poll' now"

    assert not gather_settings({"name": "ann", "stay_awake": False}, environment={}).busy_poll
    assert not gather_settings({}, environment=environment).busy_poll
    assert not gather_settings({}, config=file, environment={}).busy_poll
    assert not Settings(name="ann", stay_awake=False).busy_poll
    assert Settings(name="ann").busy_poll
    assert caplog.messages == [said.format(s) for s in ("the call", "the environment", str(file))]


def test_a_setting_is_not_given_by_both_of_its_names() -> None:
    with pytest.raises(BadConfiguration, match="leave 'stay_awake' out"):
        gather_settings({"name": "ann", "stay_awake": False, "busy_poll": True}, environment={})
