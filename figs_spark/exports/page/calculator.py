"""The calculator as HTML: the form, and the places that calculator.js fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from figs_spark.exports.instrument import Instrument
from figs_spark.exports.page.fields import OTHER, Field, Wording, plain_name
from figs_spark.exports.page.markup import NOTHING, Html, element, joined
from figs_spark.treesum.times import DATE, TIMESTAMP

UNKNOWN = "not known"
NO_RESULT = "\u2013"


def calculator(model: Instrument, fields: Sequence[Field], group: Wording | None) -> Html:
    """The section with form and result."""
    rows = [_group(model, group or Wording())] if model.kind == "groups" else []
    rows += [_row(field) for field in fields]
    form = element(
        "form",
        *rows,
        element("button", "Clear the form", type="reset"),
        id="calculator-form",
        autocomplete="off",
        novalidate=True,
        aria_label="Values of the patient",
    )
    return element("div", form, _result(model), class_="calculator")


def _group(model: Instrument, wording: Wording) -> Html:
    name = wording.name or plain_name(str(model.group_column))
    options = [element("option", "choose first", value="")]
    for k, group in enumerate(model.groups):
        label = wording.labels.get(str(group), str(group))
        options.append(element("option", label, value=str(k)))
    options.append(element("option", "any other group", value=str(OTHER)))
    hint = _hint("field-group", [wording.help or "The group decides which model is used."])
    return element(
        "div",
        element("label", name, for_="field-group"),
        hint,
        element("select", *options, id="field-group", aria_describedby="field-group-hint"),
        class_="row group",
    )


def _row(field: Field) -> Html:
    kinds = {"number": _number, "time": _time, "sign": _sign, "choice": _choice}
    return kinds[field.kind](field)


def _number(field: Field) -> Html:
    return _typed(field, type="text", inputmode="decimal", placeholder=UNKNOWN)


def _time(field: Field) -> Html:
    """A date or a time, which the browser helps to enter."""
    kind = field.feature.kind
    if kind == DATE:
        return _typed(field, type="date")
    return _typed(field, "by UTC" if kind == TIMESTAMP else "", type="datetime-local", step="1")


def _typed(field: Field, note: str = "", **attributes: str) -> Html:
    """A value that is typed, with a place for a remark on it."""
    hints = [field.help, f"{field.usual} is usual" if field.range else "", note]
    described = [f"{field.id}-hint"] if any(hints) else []
    described.append(f"{field.id}-remark")
    control = element("input", id=field.id, aria_describedby=" ".join(described), **attributes)
    unit = element("span", field.unit, class_="unit", aria_hidden="true") if field.unit else NOTHING
    heard = element("span", f" in {field.unit}", class_="heard") if field.unit else NOTHING
    return element(
        "div",
        element("label", field.name, heard, for_=field.id),
        _hint(field.id, hints),
        element("span", control, unit, class_="control"),
        element("p", id=f"{field.id}-remark", class_="remark", role="status"),
        class_="row",
    )


def _sign(field: Field) -> Html:
    choices = []
    for k, (label, value) in enumerate(
        [*((o.label, f"{o.value:g}") for o in field.options), ("Not known", "")]
    ):
        button = element(
            "input",
            id=f"{field.id}-{k}",
            type="radio",
            name=field.id,
            value=value,
            data_label=label.lower(),
            checked=not value,
        )
        choices.append(element("label", button, element("span", label), for_=f"{field.id}-{k}"))
    return element(
        "fieldset",
        element("legend", field.name),
        _hint(field.id, [field.help]),
        element("div", *choices, class_="signs"),
        class_="row",
        aria_describedby=f"{field.id}-hint" if field.help else None,
    )


def _choice(field: Field) -> Html:
    options = [element("option", UNKNOWN, value="")]
    options += [element("option", o.label, value=f"{o.value:g}") for o in field.options]
    described = f"{field.id}-hint" if field.help else None
    return element(
        "div",
        element("label", field.name, for_=field.id),
        _hint(field.id, [field.help]),
        element("select", *options, id=field.id, aria_describedby=described),
        class_="row",
    )


def _hint(name: str, parts: Sequence[str]) -> Html:
    words = [part for part in parts if part]
    if not words:
        return NOTHING
    return element("p", " · ".join(words), id=f"{name}-hint", class_="hint")


# The result


def _result(model: Instrument) -> Html:
    head = [
        element("h3", model.subject, id="result-title"),
        element("p", NO_RESULT, id="result-number", class_="number"),
        _gauge(model) if model.classes == 2 else NOTHING,
        element("p", id="result-decision", class_="decision"),
        element("p", id="result-thousand"),
    ]
    live = element("div", *head, role="status", aria_live="polite", aria_atomic="true")
    details = [_classes(model) if model.classes > 2 else NOTHING]
    if model.kind != "mean":
        details.append(_waterfall(model))
    return element(
        "div",
        live,
        element("ul", id="result-warnings", class_="warnings", role="status"),
        element("div", *details, id="result-details", hidden=True),
        id="result-box",
        class_="result empty",
        role="group",
        aria_labelledby="result-title",
    )


def _gauge(model: Instrument) -> Html:
    limit = NOTHING
    if model.flags and 0 <= model.threshold <= 1:
        limit = element("div", id="result-limit", class_="limit")
    inside = element("div", id="result-mark", class_="mark")
    return element("div", inside, limit, class_="gauge", aria_hidden="true")


def _classes(model: Instrument) -> Html:
    head = element("tr", *(element("th", h, scope="col") for h in ("Class", "", "Probability")))
    return element(
        "table",
        element("caption", "The probability of each class"),
        element("thead", head),
        element("tbody", id="result-classes"),
        class_="waterfall",
    )


def _waterfall(model: Instrument) -> Html:
    names = ("Step", "Because", "", "Adds")
    parts = [element("h4", "How this result comes about")]
    if model.outputs > 1:
        parts.append(_class_choice(model.labels))
    head = element("tr", *(element("th", name, scope="col") for name in names))
    parts.append(
        element(
            "table",
            element("caption", "From the average, tree by tree, to the result", class_="heard"),
            element("thead", head),
            element("tbody", id="result-steps"),
            class_="waterfall",
        )
    )
    return joined(parts)


def _class_choice(labels: Sequence[str]) -> Html:
    options = [element("option", "the predicted class", value="")]
    options += [element("option", label, value=str(k)) for k, label in enumerate(labels)]
    return element(
        "p",
        element("label", "Steps for ", for_="waterfall-class"),
        element("select", *options, id="waterfall-class"),
    )


def wording_of(wordings: Mapping[str, Wording], column: str | None) -> Wording | None:
    return wordings.get(column) if column is not None else None
