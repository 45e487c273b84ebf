"""The command line of a job: one option per key, over the values of a YAML file.

`--split.seed 3` sets the key `seed` of the section `split`, `--model.maxSplits 10` the entry
`maxSplits` of the map `model`. Values are written as in YAML; a list is given as several words.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from figs_spark.app.config import Key, Settings, build, convert, keys_of
from figs_spark.app.errors import EXIT_CODES
from figs_spark.app.yamlfile import read_yaml, scalar

T = TypeVar("T")


def read_settings(cls: type[T], prog: str, arguments: Sequence[str]) -> Settings[T]:
    """The settings from `--config` and the options, which win."""
    parser = _parser(cls, prog)
    given, rest = parser.parse_known_args(arguments)
    options = vars(given)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if given.config:
        read, lines = read_yaml(given.config, cls)
        values, origins = dict(read), dict(lines)
    for name, known in _plain_keys(cls).items():
        if options[name] is not None:
            values[name] = _value(parser, known, f"--{name}", options[name])
            origins[name] = f"--{name}"
    for name, entry, text in _entries(parser, cls, rest):
        values[name] = {**(values.get(name) or {}), entry: scalar(text)}
        origins[f"{name}.{entry}"] = f"--{name}.{entry}"
    return Settings(build(cls, values), origins, given.dry_run, given.overwrite)


def _parser(cls: type[Any], prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description=cls.__doc__,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="YAML with any of the keys below")
    parser.add_argument(
        "--dry-run", action="store_true", help="check settings and input, say what would be done"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace what the output holds")
    keys = parser.add_argument_group("keys, each also in the YAML file")
    defaults = _defaults(cls())
    for name, known in _plain_keys(cls).items():
        _add(keys, known, defaults[name])
    return parser


def _add(keys: Any, known: Key, default: Any) -> None:
    shown = "" if default in (None, "", [], {}) else f" ({_shown(default)})"
    text = known.text.replace("%", "%%") + shown.replace("%", "%%")
    extra: dict[str, Any] = {"metavar": known.name.rpartition(".")[2].upper()}
    if known.choices:
        extra["metavar"] = "{" + ",".join(known.choices) + "}"
    elif known.is_list:
        extra["nargs"] = "*"
    elif known.plain is bool:
        extra |= {"nargs": "?", "const": "true", "metavar": "true"}
    elif known.is_map:
        extra["metavar"] = "MAP"
        text += f"; one entry: --{known.name}.ENTRY VALUE"
    keys.add_argument(f"--{known.name}", dest=known.name, help=text, **extra)


def _shown(default: Any) -> str:
    if isinstance(default, list):
        return " ".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def _value(parser: argparse.ArgumentParser, known: Key, option: str, text: Any) -> Any:
    try:
        return convert(known, _parsed(known, text))
    except ValueError as error:
        parser.error(f"{option}: {error}")


def _parsed(known: Key, text: Any) -> Any:
    if known.optional and text in ("null", ["null"]):
        return None
    if known.is_list:
        words = str in getattr(known.plain, "__args__", ())
        return [item if words else scalar(item) for item in text]
    return text if known.plain is str or known.choices else scalar(text)


def _entries(
    parser: argparse.ArgumentParser, cls: type[Any], rest: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Options of the form --map.entry value, which are known by their map only."""
    maps = [name for name, known in _plain_keys(cls).items() if known.is_map]
    words = list(rest)
    while words:
        option, equals, text = words.pop(0).partition("=")
        name, _, entry = option.removeprefix("--").partition(".")
        if not option.startswith("--") or name not in maps or not entry:
            parser.error(f"unknown option {option}; see --help")
        if not equals and not words:
            parser.error(f"{option} needs a value")
        yield name, entry, text if equals else words.pop(0)


def _plain_keys(cls: type[Any]) -> dict[str, Key]:
    return {name: known for name, known in keys_of(cls).items() if isinstance(known, Key)}


def _defaults(values: Any, prefix: str = "") -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name, value in vars(values).items():
        if hasattr(value, "__dataclass_fields__"):
            found |= _defaults(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
