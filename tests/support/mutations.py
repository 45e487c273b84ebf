"""Damage to JSON, by chance but reproducible: entries lost, doubled, renamed, swapped or of another
type, literals that JSON does not have, deep nesting, and text that is cut or has wrong letters."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any


class Literal:
    """Text that goes into the JSON as it is."""

    def __init__(self, text: str) -> None:
        self.text = text


class Twice:
    """A value that an object has two times under the same key."""

    def __init__(self, first: Any, second: Any) -> None:
        self.pair = first, second


Place = tuple[Any, Any]  # an object or a list, and the key or the number in it

DEEP = (30, 400, 900, 1_500, 100_000)
LITERALS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1E-400", "-0", "01", "0x1", "nul")
WRONG: tuple[Any, ...] = (
    *(None, True, False, "", "false", "true", "0", "nan", "inf", "-inf", "x", "\ud800", "a\0b"),
    *(-1, 0, 1, 2, 3, 254, 255, 256, 2**31, 2**63, 10**30, 10**400),
    *(-1.0, -0.0, 0.0, 0.5, 0.9, 1.0, 1.5, 2.0, 1e308, -1e308, 5e-324),
    *([], {}, [[]], [None], [0], [0.0, 0.0], ["x"], {"number": "inf"}, {"number": 1}, {"x": 0}),
)


def mutated(random: Random, text: str) -> str:
    """The JSON text with one damage, seldom with two."""
    for _ in range(1 if random.random() < 0.9 else 2):
        change = _of_text if random.random() < 0.1 else _of_structure
        text = change(random, text)
    return text


# The text


def _of_text(random: Random, text: str) -> str:
    at, length = random.randrange(len(text) + 1), random.choice((1, 1, 2, 20))
    letter = random.choice('0123456789.-+eE"\\[]{},: \0\x7fntx\u202e')
    return random.choice(
        (
            text[:at],
            text[:at] + text[at + length :],
            text[:at] + letter + text[at:],
            text[:at] + letter + text[at + 1 :],
            text[:at] + text[at : at + length] + text[at:],
        )
    )


# The structure


def _of_structure(random: Random, text: str) -> str:
    try:
        root = json.loads(text)
        if places := _places(root):
            random.choice(CHANGES)(random, random.choice(places), places)
        return _dumped(root)
    except (ValueError, RecursionError):  # the damage before this one left no structure
        return text


def _places(root: Any) -> list[Place]:
    places: list[Place] = []
    pending = [root]
    while pending:
        inner = pending.pop()
        if isinstance(inner, (dict, list)):
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            places += [(inner, key) for key in keys]
            pending += [inner[key] for key in keys]
    return places


def _drop(random: Random, place: Place, places: list[Place]) -> None:
    del place[0][place[1]]


def _rename(random: Random, place: Place, places: list[Place]) -> None:
    inner, key = place
    names = [str(other) for _, other in places if isinstance(other, str)]
    if isinstance(inner, dict):
        new = random.choice((key + "_", key.upper(), key[:-1], "", random.choice(names)))
        inner[new] = inner.pop(key)
    else:
        inner.insert(random.randrange(len(inner) + 1), inner.pop(key))


def _double(random: Random, place: Place, places: list[Place]) -> None:
    inner, key = place
    if isinstance(inner, dict):
        inner[key] = Twice(inner[key], random.choice((inner[key], *WRONG)))
    else:
        inner.insert(key, inner[key])


def _wrong(random: Random, place: Place, places: list[Place]) -> None:
    place[0][place[1]] = random.choice(WRONG)


def _literal(random: Random, place: Place, places: list[Place]) -> None:
    place[0][place[1]] = Literal(random.choice(LITERALS))


def _deep(random: Random, place: Place, places: list[Place]) -> None:
    depth = random.choice(DEEP)
    opened, closed = random.choice((("[", "]"), ('{"left":', "}")))
    place[0][place[1]] = Literal(opened * depth + "0" + closed * depth)


def _other_type(random: Random, place: Place, places: list[Place]) -> None:
    inner, key = place
    value = inner[key]
    choices: list[Any] = [[value], {"value": value}, {"number": value}]
    if not isinstance(value, (dict, list)):
        choices += [str(value), str(value).lower(), bool(value)]
    if isinstance(value, (int, float)):
        choices += [float(value), round(value), value + 0.9]
    inner[key] = random.choice(choices)


def _nudged(random: Random, place: Place, places: list[Place]) -> None:
    inner, key = place
    value = inner[key]
    if isinstance(value, bool):
        inner[key] = not value
    elif isinstance(value, (int, float)):
        inner[key] = random.choice((value + 1, value - 1, -value, value * 2, value + 1e-9, 0))
    elif isinstance(value, str):
        inner[key] = random.choice((value + "x", value[1:], value.upper(), value[::-1]))
    elif isinstance(value, list):
        changed: tuple[list[Any], ...] = (value[1:], value[:-1], value[::-1], value * 2)
        inner[key] = random.choice(changed)
    else:
        inner[key] = None


def _swapped(random: Random, place: Place, places: list[Place]) -> None:
    (one, key), (other, name) = place, random.choice(places)
    one[key], other[name] = json.loads(_dumped(other[name])), json.loads(_dumped(one[key]))


CHANGES: tuple[Callable[[Random, Place, list[Place]], None], ...] = (
    *(_drop, _rename, _double, _wrong, _wrong, _literal, _other_type, _other_type),
    *(_nudged, _nudged, _nudged, _swapped, _swapped, _deep),
)


def _dumped(value: Any) -> str:
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(name)}: {_dumped(each)}"
            for name, inner in value.items()
            for each in (inner.pair if isinstance(inner, Twice) else (inner,))
        ]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dumped, value)) + "]"
    return json.dumps(value)
