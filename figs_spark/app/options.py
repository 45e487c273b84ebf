"""The command line of a job: one option per key. Options override the values of a YAML file.

`--split.seed 3` sets the key `seed` of the section `split`, `--model.maxSplits 10` the entry
`maxSplits` of the map `model`. Values are written as in YAML, but the entries of a map of texts are
taken as they are: `--options.nullValue ?`. A list is written as several words.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, TypeVar

from figs_spark.app.config import Key, Settings, build, convert, keys_of
from figs_spark.app.errors import EXIT_CODES
from figs_spark.app.yamlfile import read_yaml, scalar, text_map

T = TypeVar("T")


def read_settings(cls: type[T], prog: str, arguments: Sequence[str]) -> Settings[T]:
    """The settings from `--config` and the options; options win."""
    parser = _parser(cls, prog)
    entries, others = _entries(parser, cls, arguments)
    parsed, unknown = parser.parse_known_args(others)
    if unknown:
        parser.error(f"unknown option {unknown[0].partition('=')[0]}; see --help")
    options = vars(parsed)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if parsed.config:
        from_file, lines = read_yaml(parsed.config, cls)
        values, origins = dict(from_file), dict(lines)
    for name, declared in _plain_keys(cls).items():
        if options[name] is not None:
            values[name] = _value(parser, declared, f"--{name}", options[name])
            origins[name] = f"--{name}"
    for name, entry, text in entries:
        value = text if _plain_keys(cls)[name].holds_texts else _inner(parser, name, entry, text)
        values[name] = {**(values.get(name) or {}), entry: value}
        origins[f"{name}.{entry}"] = f"--{name}.{entry}"
    return Settings(build(cls, values), origins, parsed.dry_run, parsed.overwrite)


def _parser(cls: type[Any], prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description=cls.__doc__,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with any of the settings below")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="check settings and input, say what the job would do",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it exists")
    keys = parser.add_argument_group("settings; each is also a key of the YAML file")
    defaults = _defaults(cls())
    for name, declared in _plain_keys(cls).items():
        _add(keys, declared, defaults[name])
    return parser


def _add(keys: Any, declared: Key, default: Any) -> None:
    shown = "" if default in (None, "", [], {}) else f" (default: {_shown(default)})"
    text = declared.text.replace("%", "%%") + shown.replace("%", "%%")
    extra: dict[str, Any] = {"metavar": declared.name.rpartition(".")[2].upper()}
    if declared.choices:
        extra["metavar"] = "{" + ",".join(declared.choices) + "}"
    elif declared.is_list:
        extra["nargs"] = "*"
    elif declared.plain is bool:
        extra |= {"nargs": "?", "const": "true", "metavar": "true"}
    elif declared.is_map:
        extra["metavar"] = "MAP"
        text += f"; one entry: --{declared.name}.ENTRY VALUE"
    keys.add_argument(f"--{declared.name}", dest=declared.name, help=text, **extra)


def _shown(default: Any) -> str:
    if isinstance(default, list):
        return " ".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def _value(parser: argparse.ArgumentParser, declared: Key, option: str, text: Any) -> Any:
    try:
        return convert(declared, _parsed(declared, text))
    except ValueError as error:
        parser.error(f"{option}: {error}")


def _inner(parser: argparse.ArgumentParser, name: str, entry: str, text: str) -> Any:
    """The value of an entry of a map."""
    try:
        return scalar(text)
    except ValueError as error:
        parser.error(f"--{name}.{entry}: {error}")


def _parsed(declared: Key, text: Any) -> Any:
    if declared.optional and text in ("null", ["null"]):
        return None
    if declared.holds_texts:
        return text_map(text)
    if declared.is_list:
        words = str in getattr(declared.plain, "__args__", ())
        return [item if words else scalar(item) for item in text]
    return text if declared.plain is str or declared.choices else scalar(text)


def _entries(
    parser: argparse.ArgumentParser, cls: type[Any], arguments: Sequence[str]
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """The options of the form --map.entry value, and all other words.

    The word after such an option is its value, whatever it looks like.
    """
    maps = [name for name, declared in _plain_keys(cls).items() if declared.is_map]
    words, entries, others = list(arguments), [], []
    while words:
        word = words.pop(0)
        option, equals, text = word.partition("=")
        name, _, entry = option.removeprefix("--").partition(".")
        if not option.startswith("--") or name not in maps or not entry:
            others.append(word)
            continue
        if not equals and not words:
            parser.error(f"{option} needs a value")
        entries.append((name, entry, text if equals else words.pop(0)))
    return entries, others


def _plain_keys(cls: type[Any]) -> dict[str, Key]:
    return {name: declared for name, declared in keys_of(cls).items() if isinstance(declared, Key)}


def _defaults(values: Any, prefix: str = "") -> Mapping[str, Any]:
    defaults: dict[str, Any] = {}
    for name, value in vars(values).items():
        if is_dataclass(value):
            defaults |= _defaults(value, f"{prefix}{name}.")
        else:
            defaults[prefix + name] = value
    return defaults
