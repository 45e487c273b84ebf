"""The summary on top: what the model is for, how good it is, and when not to use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from figs_spark.exports.instrument import Instrument
from figs_spark.exports.page.evaluated import Evaluated
from figs_spark.exports.page.evaluation import count, shown, with_interval
from figs_spark.exports.page.fields import Field
from figs_spark.exports.page.markup import Content, Html, element
from figs_spark.exports.page.statement import NOT_STATED, TOPICS, Statement, definitions
from figs_spark.treesum.fingerprint import short

TOPICS_ON_TOP = (
    "intendedUse", "users", "population", "setting", "outcome", "timeOfPrediction", "limitations",
    "owner", "approval", "review",
)  # fmt: skip


def facts_section(
    model: Instrument,
    fields: Mapping[int, Field],
    statement: Statement,
    results: Evaluated | None,
    small_cell: int,
    remarks: Sequence[str] = (),
) -> Html:
    """One page of paper."""
    pairs: list[tuple[Content, Content]] = [("It predicts", model.subject)]
    pairs += [(TOPICS[key], statement.html(key)) for key in TOPICS_ON_TOP]
    pairs += [
        ("It asks for", ", ".join(_named(field) for field in fields.values()) or "nothing"),
        ("Its form", _form(model)),
        ("Trained on", _trained(model, small_cell)),
        ("Evaluated on", _evaluated(results)),
        ("Operating point", model.operating_point or _threshold(model)),
        ("Version", f"figs_spark {model.version}, fingerprint {short(model.fingerprint)}"),
    ]
    if remarks:
        pairs.append(("To be known", element("ul", *(element("li", text) for text in remarks))))
    return _caution(statement) + _tiles(results, model) + definitions(pairs)


def _caution(statement: Statement) -> Html:
    title = element("strong", f"{TOPICS['doNotUseWhen']}: ")
    return element("div", element("p", title, statement.html("doNotUseWhen")), class_="caution")


def _tiles(results: Evaluated | None, model: Instrument) -> Html:
    if results is None:
        return element("p", "How well it performs: ", element("span", NOT_STATED, class_="absent"))
    whole = results.overall
    point = "operating point" if model.flags else f"default threshold, {100 * model.threshold:g}%"
    flagged = results.operating_points[0].get("flaggedPerThousand")
    tiles = [
        (shown(whole["auc"], 2), f"AUC, {_range(with_interval(whole, 'auc', 2))}"),
        (shown(whole.get("sensitivity"), percent=True), f"sensitivity at the {point}"),
        (shown(whole.get("specificity"), percent=True), f"specificity at the {point}"),
        (shown(flagged, 0), "flagged of 1,000 patients"),
        (shown(whole.get("oe"), 2), "observed / expected events"),
        (shown(whole.get("slope"), 2), "calibration slope"),
    ]
    items = [element("li", element("strong", n), element("span", t)) for n, t in tiles]
    return element("ul", *items, class_="tiles")


def _range(text: str) -> str:
    return text.partition("(")[2].rstrip(")") or "no interval"


def _named(field: Field) -> str:
    return f"{field.name} ({field.unit})" if field.unit else field.name


def _form(model: Instrument) -> str:
    trees = [len(one.trees) for one in model.sums]
    splits = [len(one.splits) for one in model.sums]
    sizes = f"{_span(trees)} trees with {_span(splits)} splits in all"
    if model.kind == "groups":
        return f"For each of {len(model.groups)} groups of {model.group_column} {sizes}"
    if model.kind == "mean":
        return f"The mean of {len(model.sums)} models, each with {sizes}"
    words = f"{trees[0]} tree{'s' * (trees[0] != 1)} with {splits[0]} split{'s' * (splits[0] != 1)}"
    return f"A sum of {words}; all of it is on this page"


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


def _trained(model: Instrument, small_cell: int) -> str:
    """The rows of the first tree's root, which every training row passes."""
    if model.kind == "groups":
        return "rows of all groups, see the model"
    rows = model.sums[0].trees[0].rows
    return f"{rows:,} rows" if rows >= small_cell else f"fewer than {small_cell} rows"


def _evaluated(results: Evaluated | None) -> Content:
    if results is None:
        return element("span", NOT_STATED, class_="absent")
    whole = results.overall
    return f"{count(whole['rows'])} rows, {count(whole['positives'])} with the outcome"


def _threshold(model: Instrument) -> Content:
    if model.classes != 2 or model.thresholds is not None:
        return "none" if model.thresholds is None else f"thresholds {list(model.thresholds)}"
    rule = f"flags a risk above {100 * model.threshold:g}%" if model.threshold >= 0 else "everyone"
    return rule if model.flags else f"none was chosen; the default {rule}"
