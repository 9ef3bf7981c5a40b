"""Former names of packages: everything that they offered is still to be had, with a warning."""

from importlib import import_module

import pytest

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
