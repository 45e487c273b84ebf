"""Pictures of models: nothing overlaps, nothing sticks out, nothing is left out."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.pictures.axes import to_axes
from figs_spark.pictures.importances import draw_importances
from figs_spark.pictures.layout import DROP, GAP, Box, place_tree, rows_of, tree_size
from figs_spark.pictures.lettering import shortened, text_width, wrapped
from figs_spark.pictures.nodes import node_box
from figs_spark.pictures.overview import draw_overview
from figs_spark.pictures.shapes import Compound, Drawing, Rect, Shape, Text
from figs_spark.pictures.svg import to_html, to_svg
from figs_spark.pictures.trees import MARGIN, draw_model
from figs_spark.pictures.waterfall import draw_explanation
from figs_spark.treesum import TreeSum
from figs_spark.treesum.explanation import Explanation
from figs_spark.treesum.reading import Labels, Reading
from figs_spark.treesum.text import question
from tests.support.pictured import CARE, DAYS, RISK, full, labels_of, trauma
from tests.support.treesums import FEATURES, chain, random_split, random_tree_sum

mpl.use("agg")

SVG = "{http://www.w3.org/2000/svg}"
MODELS = {
    "three trees": trauma(),
    "one tree": trauma().truncate(1),
    "no split": trauma().truncate(0),
    "twelve trees": full(depth=2, trees=12),
    "depth 6": full(depth=6),
    "a chain": chain(12, leftwards=False),
    "three classes": full(depth=2, trees=3, outputs=3),
    "odd names and numbers": random_tree_sum(Random(1), splits=12),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def flat(shapes: Sequence[Shape]) -> Iterator[Shape]:
    for shape in shapes:
        yield shape
        if isinstance(shape, Compound):
            yield from flat(shape.shapes)


def groups(drawing: Drawing, role: str) -> list[Compound]:
    return [s for s in flat(drawing.shapes) if isinstance(s, Compound) and s.role == role]


def texts(group: Compound | Drawing) -> list[Text]:
    return [shape for shape in flat(group.shapes) if isinstance(shape, Text)]


def words(group: Compound | Drawing) -> str:
    """All text in it, without white space: lines are broken anywhere."""
    return re.sub(r"\s", "", "".join(text.text for text in texts(group)))


def frame(group: Compound) -> Rect:
    """The box that the group stands in."""
    assert isinstance(group.shapes[0], Rect)
    return group.shapes[0]


def bars(group: Compound | Drawing) -> list[Rect]:
    return [s for s in flat(group.shapes) if isinstance(s, Rect) and s.role == "bar"]


def extent(text: Text) -> tuple[float, float]:
    wide = text_width(text.text, text.size, text.bold)
    left = text.x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.anchor]
    return left, left + wide


def overlap(a: Rect, b: Rect) -> bool:
    apart_x = a.x + a.width <= b.x or b.x + b.width <= a.x
    return not (apart_x or a.y + a.height <= b.y or b.y + b.height <= a.y)


def holds(outer: Rect, x: float, y: float) -> bool:
    near = 0.01
    return (
        outer.x - near <= x <= outer.x + outer.width + near
        and outer.y - near <= y <= outer.y + outer.height + near
    )


# The geometry


@every_model
def test_boxes_do_not_overlap_and_stay_in_their_card(model: TreeSum) -> None:
    drawing = draw_model(model, labels_of(model))
    paper = Rect(0, 0, drawing.width, drawing.height)
    cards = [frame(g) for role in ("start", "tree", "prediction") for g in groups(drawing, role)]
    assert not any(overlap(a, b) for a, b in combinations(cards, 2))
    assert all(holds(paper, c.x, c.y) for c in cards)
    assert all(holds(paper, c.x + c.width, c.y + c.height) for c in cards)
    for tree in groups(drawing, "tree"):
        inner = [frame(g) for g in tree.shapes if isinstance(g, Compound)]
        assert not any(overlap(a, b) for a, b in combinations(inner, 2))
        card = frame(tree)
        assert all(holds(card, b.x, b.y) for b in inner)
        assert all(holds(card, b.x + b.width, b.y + b.height) for b in inner)


@every_model
def test_text_and_bars_fit_their_box(model: TreeSum) -> None:
    drawing = draw_model(model, labels_of(model))
    for role in ("split", "leaf", "start", "prediction"):
        for group in groups(drawing, role):
            box = frame(group)
            for text in texts(group):
                left, right = extent(text)
                assert holds(box, left, text.y - text.size * 0.75), text
                assert holds(box, right, text.y + text.size * 0.25), text
            for bar in bars(group):
                assert holds(box, bar.x, bar.y)
                assert holds(box, bar.x + bar.width, bar.y + bar.height)
    for text in texts(drawing):
        left, right = extent(text)
        assert 0 <= left < right <= drawing.width + 0.01, text


@every_model
def test_letters_of_matplotlib_fit_too(model: TreeSum) -> None:
    """The widths that the layout assumed are those of a real font, which is rounded to pixels."""
    drawing = draw_model(model, labels_of(model))
    axes = to_axes(drawing)
    scale = axes.get_window_extent().width / drawing.width
    for artist, text in zip(axes.texts, texts(drawing), strict=True):
        if text.text.isascii():
            real = artist.get_window_extent().width / scale
            assert real <= 1.04 * text_width(text.text, text.size, text.bold) + 1.0, text
    mpl.pyplot.close(axes.figure)


@given(st.recursive(
    st.builds(Box, st.floats(1, 200), st.floats(1, 90)),
    lambda below: st.builds(Box, st.floats(1, 200), st.floats(1, 90), st.tuples(below, below)),
    max_leaves=20,
))  # fmt: skip
@settings(deadline=None)
def test_any_tree_of_boxes_is_placed_apart(tree: Box) -> None:
    placed = place_tree(tree, 10.0, 20.0)
    width, height = tree_size(tree)
    found = list(placed.walk())
    assert min(p.x for p in found) == pytest.approx(10.0)
    assert max(p.x + p.box.width for p in found) == pytest.approx(10.0 + width)
    assert max(p.bottom for p in found) == pytest.approx(20.0 + height)
    for a, b in combinations(found, 2):
        across = max(a.x, b.x) - min(a.x + a.box.width, b.x + b.box.width)
        down = max(a.y, b.y) - min(a.bottom, b.bottom)
        assert across >= GAP - 1e-6 or down >= DROP - 1e-6
    for p in found:
        if p.below:
            assert p.middle == pytest.approx(sum(child.middle for child in p.below) / 2)


def test_rows_of_cards_are_few_and_even() -> None:
    assert rows_of([300.0] * 3, 1000) == [[0, 1, 2]]
    assert rows_of([300.0] * 4, 1000) == [[0, 1], [2, 3]]
    assert rows_of([100.0, 5000.0, 100.0], 1000) == [[0], [1], [2]]
    assert len(draw_model(full(2, trees=12), RISK, width=700).shapes) > 12


def test_trees_are_wrapped_to_the_width_asked_for() -> None:
    model = full(depth=1, trees=12)
    for width in (700, 1080, 1600):
        assert draw_model(model, RISK, width).width <= width
    assert draw_model(model, RISK, 700).height > draw_model(model, RISK, 1600).height


# What is in it


@every_model
def test_every_node_is_there_with_its_rows_and_every_leaf_has_a_bar(model: TreeSum) -> None:
    drawing = draw_model(model, labels_of(model))
    reading = Reading(model, labels_of(model))
    shown = groups(drawing, "tree")
    assert len(shown) == len(model.trees)
    for k, (tree, root) in enumerate(zip(shown, model.trees)):
        splits = [n for n in root.walk() if n.split]
        leaves = list(root.leaves())
        inside = list(flat(tree.shapes))
        assert sum(isinstance(s, Compound) and s.role == "leaf" for s in inside) == len(leaves)
        assert len(bars(tree)) == len(leaves) * model.outputs
        lines = [text.text for text in texts(tree)]
        assert sorted(line for line in lines if line.startswith("n = ")) == sorted(
            f"n = {node.rows:,}" for node in (*splits, *leaves)
        )
        for leaf in leaves:
            assert {reading.change(v) for v in reading.added(k, leaf.value)} <= set(lines)


def test_questions_and_answers() -> None:
    drawing = draw_model(trauma(), RISK)
    asked = [words(group) for group in groups(drawing, "split")]
    assert asked == [
        "gcs_total≤8.5?n=69,855",
        "gcs_total≤13.5?n=68,472",
        "abdominaltenderness?n=69,855",
        "systolicbloodpressureonarrivalattheemergencydepartment(mmHg)≤90?n=9,855",
        'mechanismin{motor<vehicle>,"bike&\\"car\\""}?n=69,855',
    ]
    answered = [t.text for t in texts(drawing) if re.match("(yes|no)( or missing)?$", t.text)]
    assert answered == [
        "yes", "no or missing", "yes or missing", "no",
        "yes", "no or missing", "yes", "no or missing",
        "yes or missing", "no",
    ]  # fmt: skip
    values = [re.sub("n=.*", "", words(group)) for group in groups(drawing, "leaf")]
    below = ["+46.0pp", "+15.0pp", "\u22122.0pp", "+25.0pp", "+0.0pp", "\u22121.0pp"]
    assert values == [*below, "+3.0pp", "\u22120.5pp"]


def test_long_names_make_a_box_higher_but_not_wider() -> None:
    boxes = [frame(group) for group in groups(draw_model(full(depth=6), RISK), "split")]
    assert max(box.width for box in boxes) < 200
    assert max(box.height for box in boxes) > 2 * min(box.height for box in boxes)


def test_yes_stands_on_the_left_and_leads_where_the_question_says() -> None:
    reading = Reading(trauma(), RISK)
    tender = node_box(reading, 1)  # missing and false go left in the tree
    yes, no = tender.below
    assert (yes.content.rows, no.content.rows) == ("9,855", "60,000")


@given(st.randoms(use_true_random=False), st.integers(0, len(FEATURES) - 1))
@settings(deadline=None)
def test_a_question_is_never_negated_without_need(random: Random, feature: int) -> None:
    split = random_split(random, feature)
    text, left, missing = question(FEATURES[feature], split)
    assert "or missing" not in text
    assert " not in {" not in text
    if missing:
        assert (missing == "yes") == (split.missing_left == left)
    else:
        assert text.endswith("is missing")
        assert left == split.missing_left


def test_bars_share_one_scale_and_point_up_or_down() -> None:
    drawing = draw_model(trauma(), RISK)
    largest, middle, lowers = (bars(group)[0] for group in groups(drawing, "leaf")[:3])
    assert middle.width / largest.width == pytest.approx(15 / 46)
    assert lowers.width / largest.width == pytest.approx(2 / 46)
    assert largest.fill == middle.fill != lowers.fill
    box = frame(groups(drawing, "leaf")[2])
    assert lowers.x + lowers.width == pytest.approx(box.x + box.width / 2)


def test_the_start_is_the_average_and_the_leaves_add_to_it() -> None:
    reading = Reading(trauma(), RISK)
    assert "Start4.0%theaverage" in words(draw_model(trauma(), RISK))
    assert reading.added(0, (0.5,)) == pytest.approx((0.46,))
    assert reading.added(1, (0.25,)) == (0.25,)


def test_a_number_is_no_percentage() -> None:
    text = words(draw_model(trauma(), DAYS))
    assert "+0.460" in text
    assert "%" not in text
    assert "pp:" not in text


def test_several_classes_show_a_bar_for_each() -> None:
    drawing = draw_model(full(1, trees=2, outputs=3), CARE)
    for leaf in groups(drawing, "leaf"):
        shown = [t.text for t in texts(leaf)]
        assert shown[0::2][:2] == ["home", "ward"]
        assert shown[4].startswith("intensive")
        assert len(bars(leaf)) == 3


# SVG


@every_model
def test_svg_is_xml_with_a_bar_for_each_leaf(model: TreeSum) -> None:
    root = ElementTree.fromstring(to_svg(draw_model(model, labels_of(model))))
    assert root.tag == f"{SVG}svg"
    found = root.findall(f".//{SVG}rect[@class='bar']")
    leaves = sum(1 for tree in model.trees for _ in tree.leaves())
    assert len(found) == leaves * model.outputs
    assert all(float(rect.attrib["width"]) > 0 for rect in found)


def test_svg_shows_names_as_they_are() -> None:
    labels = Labels('Risk <of> "a&b" $x$ \0', "größe 収縮期血圧 😀")
    root = ElementTree.fromstring(to_svg(draw_model(trauma(), labels)))
    shown = re.sub(r"\s", "", "".join(root.itertext()))
    assert 'Risk<of>"a&b"$x$\\u0000' in shown
    assert "größe収縮期血圧😀" in shown
    assert "mechanismin{motor<vehicle>," in shown


@given(st.randoms(use_true_random=False), st.integers(0, 8), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_every_model_is_drawn(random: Random, splits: int, outputs: int) -> None:
    model = random_tree_sum(random, splits, outputs)
    labels = Labels("It", "it", random.random() < 0.5, ("a", "b", "c")[:outputs])
    root = ElementTree.fromstring(to_svg(draw_model(model, labels)))
    drawn = Counter(group.get("class") for group in root.iter(f"{SVG}g"))
    leaves = sum(1 for tree in model.trees for _ in tree.leaves())
    assert (drawn["tree"], drawn["split"], drawn["leaf"]) == (len(model.trees), splits, leaves)


def test_html_needs_nothing_from_elsewhere() -> None:
    text = to_html(draw_model(trauma(), RISK))
    assert not re.search(r"<script|<link|<img|url\(|href|@import", text)
    assert re.findall(r"https?://[^\"']*", text) == ["http://www.w3.org/2000/svg"]
    assert "background:#ffffff" in text
    ElementTree.fromstring(text)


# matplotlib


def test_matplotlib_shows_the_same_as_svg() -> None:
    drawing = draw_model(trauma(), RISK)
    axes = to_axes(drawing)
    assert [t.get_text() for t in axes.texts] == [t.text for t in texts(drawing)]
    assert sum(patch.get_gid() == "bar" for patch in axes.patches) == len(bars(drawing))
    width, height = axes.figure.get_size_inches()
    assert width / height == pytest.approx(drawing.width / drawing.height)
    mpl.pyplot.close(axes.figure)


def test_dollars_are_no_formula() -> None:
    axes = to_axes(draw_model(trauma(), Labels("Cost in $ or \\$, $\\bad{$", "the cost")))
    axes.figure.canvas.draw()
    assert not any(text.get_parse_math() for text in axes.texts)
    mpl.pyplot.close(axes.figure)


def test_letters_shrink_with_the_axes() -> None:
    figure, (left, right) = mpl.pyplot.subplots(1, 2, figsize=(8, 4))
    drawing = draw_model(trauma(), RISK)
    assert to_axes(drawing, right) is right
    assert not left.texts
    alone = to_axes(drawing)
    assert right.texts[0].get_fontsize() < 0.5 * alone.texts[0].get_fontsize()
    mpl.pyplot.close(figure)
    mpl.pyplot.close(alone.figure)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **others: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError("No module named 'matplotlib'")
        return real(name, *args, **others)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'figs_spark\[plot\]'"):
        to_axes(draw_model(trauma(), RISK))


# Text


@given(st.text(min_size=1), st.floats(30, 300))
def test_wrapped_text_loses_nothing_and_fits(text: str, width: float) -> None:
    lines = wrapped(text, 12, width)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    assert all(text_width(line, 12) <= width for line in lines)


def test_wrapped_text_breaks_at_spaces_first() -> None:
    assert wrapped("mechanism in {fall_from_height, other}", 12, 150) == [
        "mechanism in",
        "{fall_from_height,",
        "other}",
    ]
    assert wrapped("number_of_vomiting_episodes", 12, 100) == [
        "number_of_",
        "vomiting_",
        "episodes",
    ]
    assert wrapped("one two three four", 12, 50, lines=2)[-1].endswith("…")
    assert shortened("a long name", 12, 50).endswith("…")
    assert text_width(shortened("a long name", 12, 50), 12) <= 50


def test_importances_show_the_largest_first() -> None:
    names = [f"x{j}" for j in range(14)]
    shares = [j / 91 for j in range(14)]
    drawing = draw_importances("Risk", "The mean of 3 members.", names, shares)
    shown = [texts(group)[0].text for group in groups(drawing, "feature")]
    assert shown == [f"x{j}" for j in range(13, 3, -1)]
    widths = [bar.width for bar in bars(drawing)]
    assert widths == sorted(widths, reverse=True)
    assert not groups(draw_importances("Risk", "", ["x"], [0.0]), "feature")


# The waterfall: see also test_explanation.py


@every_model
def test_a_waterfall_stays_on_its_paper(model: TreeSum) -> None:
    drawing = draw_explanation(
        Explanation.of(model, labels_of(model), [None] * len(model.features))
    )
    assert {t.text for t in texts(drawing)} >= {f"Tree {k + 1}" for k in range(len(model.trees))}
    for text in texts(drawing):
        left, right = extent(text)
        assert MARGIN - 0.01 <= left < right <= drawing.width + 0.01, text
    for bar in bars(drawing):
        assert 0 <= bar.x < bar.x + bar.width <= drawing.width
    ElementTree.fromstring(to_svg(drawing))


def test_an_overview_of_many_groups_keeps_their_counts() -> None:
    large = replace(trauma().trees[0], rows=1_234_567, weight=1_234_567.0)
    model = replace(trauma(), trees=(large, *trauma().trees[1:]))
    shown = to_svg(draw_overview("Risk", {f"group {k}": model for k in range(12)}))
    assert shown.count("1,234,567") == 12


def test_an_overview_says_the_same_of_each_group() -> None:
    """A column too narrow for the number of splits takes it from all columns."""
    few, many = (
        replace(trauma(), trees=(replace(trauma().trees[0], rows=rows), *trauma().trees[1:]))
        for rows in (90, 1_234_567)
    )
    groups = {f"group {k}": few for k in range(11)} | {"large": many}
    narrow = to_svg(draw_overview("Risk", groups))
    assert "n 90" in narrow
    assert "splits, n" not in narrow
    one = replace(trauma().truncate(1), remarks=())
    assert "1 split, n" in to_svg(draw_overview("Risk", {"old": one, "young": few}))
