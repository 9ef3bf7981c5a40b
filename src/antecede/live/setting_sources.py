"""Where settings come from, and which source wins.

What the code says wins over the environment (`ANTECEDE_HEARTBEAT=2s`), the environment over the
`[node]` table of a TOML file (given as `config`, or named by `ANTECEDE_CONFIG`), and that over the
defaults. A key that does not exist is an error that names the one probably meant.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeAlias

from antecede.core.errors import near_miss
from antecede.live.errors import BadConfiguration
from antecede.live.settings import RULES, SETTING_NAMES, Settings, read_setting
from antecede.trace.atomic import blaming

PREFIX: Final = "ANTECEDE_"
CONFIG_VARIABLE: Final = "ANTECEDE_CONFIG"
TABLE: Final = "node"
SIMILAR: Final = 0.8
"""How much a variable of the environment must look like a setting to be taken for a typing error:
others may begin with the same letters and mean something else."""

Given: TypeAlias = Mapping[str, object]


def gather_settings(
    keywords: Given,
    *,
    config: Settings | str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    fallback: Given | None = None,
    how: str = "to open_node()",
) -> Settings:
    """The settings of a node from everything that has a say; keywords that are None have none.

    `config` names the file, or is a `Settings` that stands in for it and for the environment.
    What nobody says is as in `fallback`, or has its default. `how` a name is given where this was
    called, for whoever forgot it.
    """
    given = {name: value for name, value in keywords.items() if value is not None}
    check_names(given, "the call")
    merged: dict[str, object] = dict(fallback or {})
    if isinstance(config, Settings):
        merged |= {name: getattr(config, name) for name in SETTING_NAMES}
    else:
        surroundings = os.environ if environment is None else environment
        file = config if config is not None else surroundings.get(CONFIG_VARIABLE)
        if file:
            merged |= from_file(Path(file))
        merged |= from_environment(surroundings)
    for name, value in given.items():
        merged[name] = read_setting(name, RULES[name], value)
    return settings_of(merged, how)


def from_file(path: Path) -> dict[str, object]:
    """What the `[node]` table of this file says, checked."""
    try:
        with blaming(path, "read"):
            document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"{path} is not TOML: {error}") from error
    table = document.get(TABLE)
    if not isinstance(table, dict):
        hint = near_miss(TABLE, list(document))
        raise BadConfiguration(f"{path} has no table [{TABLE}]{hint}; settings belong there")
    check_names(table, str(path))
    return {
        name: read_setting(name, RULES[name], value, str(path)) for name, value in table.items()
    }


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """What variables such as `ANTECEDE_BIND` say, checked."""
    variables = {f"{PREFIX}{name.upper()}": name for name in SETTING_NAMES}
    found: dict[str, object] = {}
    for variable, value in environment.items():
        if variable in variables:
            name = variables[variable]
            found[name] = read_setting(name, RULES[name], value, f"{variable} in the environment")
        elif variable.startswith(PREFIX) and variable != CONFIG_VARIABLE:
            close = get_close_matches(variable, list(variables), n=1, cutoff=SIMILAR)
            if close and similar_tail(variable, close[0]):
                raise BadConfiguration(
                    f"there is no setting for {variable} in the environment; "
                    f"did you mean {close[0]}?"
                )
    return found


def similar_tail(variable: str, known: str) -> bool:
    """Whether two variables look alike in what follows the prefix that all share."""
    tails = variable.removeprefix(PREFIX), [known.removeprefix(PREFIX)]
    return bool(get_close_matches(*tails, n=1, cutoff=SIMILAR))


def check_names(given: Given, source: str) -> None:
    """Refuse settings that do not exist."""
    for name in given:
        if name not in RULES:
            raise BadConfiguration(
                f"there is no setting {name!r} (from {source}){near_miss(name, SETTING_NAMES)}; "
                f"there are {', '.join(SETTING_NAMES)}"
            )


def settings_of(values: Mapping[str, Any], how: str) -> Settings:
    """Settings with these values, each of which has been read."""
    for item in fields(Settings):
        name, has_default = item.name, (item.default, item.default_factory) != (MISSING, MISSING)
        if name not in values and not has_default:
            raise BadConfiguration(
                f"setting {name!r} is missing: give it {how}, as {PREFIX}{name.upper()} "
                f"in the environment, or in the table [{TABLE}] of the configuration file"
            )
    return Settings(**values)
