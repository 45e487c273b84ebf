"""The settings of the job `train` to start from, with comments that say why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from figs_spark.dataframes.columns import quoted as sql_name
from figs_spark.inspection.inspection import Inspection
from figs_spark.inspection.text import headline, label_share
from figs_spark.inspection.verdicts import PATIENT
from figs_spark.treesum.visible import visible_name

PLAIN = re.compile(r"^[A-Za-z_][\w./-]*$", re.ASCII)
NO_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # to YAML
ENOUGH_FOR_FOLDS = 100  # rows with the label, to choose a size by cross-validation
ENOUGH_TO_VALIDATE = 500  # to choose a threshold on a fifth of them
THRESHOLD = """\
# The threshold: whom the model flags. Without one, those with a risk above 50%; of a rare label
# that is nobody. Train first, and see what each sensitivity costs:
#   figs-spark evaluate --part validation --sensitivities 0.5 0.6 0.7 0.8 0.9 ...
# operating_points.csv has the specificity of each. Those who act on it should say how many may
# be missed. Then set the sensitivity, take the # away and train again:
# operatingPoint:
#   sensitivity: 0.7   # at least this share of the validation rows with the label is flagged"""


@dataclass(frozen=True)
class Source:
    """Where the rows come from, and where the model goes."""

    input: str
    format: str
    options: dict[str, str]
    output: str
    where: str | None = None
    derive: dict[str, str] = field(default_factory=dict)


def train_yaml(look: Inspection, source: Source) -> str:
    sections = (
        _input(look, source), _label(look), _exclude(look), _split(look), _model(look),
        _size(look), _threshold(look),
    )  # fmt: skip
    parts = [text for lines in sections if (text := "\n".join(lines))]
    return "\n\n".join([*parts, f"output: {quoted(source.output)}"]) + "\n"


def quoted(text: str) -> str:
    """A text as YAML reads it; every JSON string is one, and a plain word is, too."""
    return text if PLAIN.match(text) and text.lower() not in NO_WORDS else json.dumps(text)


def _input(look: Inspection, source: Source) -> Iterator[str]:
    yield "# Written by `figs-spark inspect`; read it before you train."
    yield "#   figs-spark train --config train.yaml --dry-run"
    yield f"# {headline(look)}."
    yield f"input: {quoted(source.input)}"
    yield f"format: {source.format}"
    options = dict(source.options)
    if look.null_text is not None and source.format == "csv":
        options.setdefault("nullValue", look.null_text)
    yield f"options: {_map(options)}"
    yield f"derive: {_map(source.derive)}"
    decided = [(c.name, note) for c in look.columns for note in c.notes if note.startswith("if it")]
    yield from (f"# {visible_name(name)}: {visible_name(note)}" for name, note in decided)
    yield from ["# Should such rows be left out? Then set `where`."] if decided else []
    if look._label.missing and source.where is None:
        name = look._label.source
        label = sql_name(name) if name else f"({look._label.name})"
        condition = f"{label} is not null"
        yield f"where: {quoted(condition)}   # {look._label.missing:,} rows have no label"
    elif source.where is not None:
        yield f"where: {quoted(source.where)}"


def _map(entries: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{quoted(name)}: {quoted(v)}' for name, v in entries.items())}}}"


def _label(look: Inspection) -> Iterator[str]:
    label = look._label
    yield f"label: {quoted(label.name)}   # {label_share(look)}"
    if label.positive is not None:
        others = sorted(set(label.classes) - {label.positive}, key=lambda c: -label.classes[c])
        shown = ", ".join(visible_name(c) for c in others if label.classes[c] >= 10)
        yield f"positive: {quoted(label.positive)}   # against {shown or 'all others'}"


def _exclude(look: Inspection) -> Iterator[str]:
    out = [c for c in look.columns if not c.kept and c.name != look.group]
    asked = [c for c in look.columns if c._verdict.ask]
    yield f"exclude:{'' if out else ' []'}"
    for c in out:
        yield f"  - {quoted(c.name)}   # {c.use}: {visible_name(c.why)}"
    if asked:
        yield "  # Are these known when the model is used? If not, take the # away:"
    yield from (f"  # - {quoted(c.name)}" for c in asked)


def _split(look: Inspection) -> Iterator[str]:
    yield "split:"
    shares = "[0.6, 0.2, 0.2]" if _has_threshold(look) else "[0.7, 0.0, 0.3]"
    yield f"  fractions: {shares}   # training, validation and test rows"
    if look.group is not None:
        group = next(c for c in look.columns if c.name == look.group)
        yield f"  group: {quoted(look.group)}   # {visible_name(group.why)}"
        others = [c.name for c in look.columns if c.use == PATIENT and c is not group]
        yield from (f"  # or: group: {quoted(name)}" for name in others)
    else:
        yield "  group: null   # a column that says whose row it is, if persons have several rows"


def _model(look: Inspection) -> Iterator[str]:
    yield "kind: figs   # or bagged; or gfigs with groupCol: one model per group"
    yield "model:"
    yield "  maxSplits: 16"
    verdicts = [(c.name, c._verdict) for c in look.columns if c.kept]
    codes = [name for name, verdict in verdicts if verdict.as_codes]
    if codes:
        yield "  categoricalCols:   # numbers that are codes, by their names"
        yield from (f"    - {quoted(name)}" for name in codes)
    orders = [(name, verdict.order) for name, verdict in verdicts if verdict.order]
    if orders:
        yield "  orderedCols:"
        yield from (f"    {quoted(name)}: [{', '.join(map(quoted, o))}]" for name, o in orders)
    systems = [(name, verdict.system) for name, verdict in verdicts if verdict.system]
    if systems:
        yield "  codeSystems:   # their levels are split as well"
        yield from (f"    {quoted(name)}: {quoted(system)}" for name, system in systems)


def _size(look: Inspection) -> Iterator[str]:
    rarer = _rarer(look)
    yield "size:"
    if rarer >= ENOUGH_FOR_FOLDS:
        yield "  choose: recommended   # the smallest size that loses little, by cross-validation"
        yield "  folds: 5"
    else:
        yield f"  choose: fixed   # {rarer:,.0f} rows are few to choose a size by"
    yield "privacy: strict   # no leaf and no count of fewer than 11 rows"


def _threshold(look: Inspection) -> Iterator[str]:
    """What to ask for depends on the model: one of few probabilities may reach a high sensitivity
    only if nearly everyone is flagged."""
    if _has_threshold(look):
        yield THRESHOLD


def _has_threshold(look: Inspection) -> bool:
    return look._label.is_class and _rarer(look) >= ENOUGH_TO_VALIDATE


def _rarer(look: Inspection) -> float:
    """Rows with the label or without it, whichever are fewer; all rows if it is an amount."""
    label = look._label
    return min(label.mean, 1 - label.mean) * label.rows if label.is_class else label.rows
