"""A drawing as SVG text that stands alone: it needs no font, script or other file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from figs_spark.pictures.shapes import Compound, Drawing, Line, Rect, Shape, Text
from figs_spark.treesum.visible import visible

FONTS = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
SHRINKS = 0.7  # a picture shrinks to this share of its width, then the notebook scrolls


def to_svg(drawing: Drawing, style: str = "") -> str:
    width, height = _number(drawing.width), _number(drawing.height)
    styled = f' style="{style}"' if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONTS}"{styled}>'
        f"<title>{_clean(drawing.title)}</title>{_all(drawing.shapes)}</svg>"
    )


def to_html(*drawings: Drawing) -> str:
    """The drawings on a white background, for light and dark notebooks."""
    paper = (
        "background:#ffffff;color:#1f2933;color-scheme:light;border:1px solid #dde2e8;"
        "border-radius:8px;padding:4px;overflow-x:auto;box-sizing:border-box;max-width:fit-content"
    )
    pictures = "".join(f"<div>{to_svg(d, _flexible(d.width))}</div>" for d in drawings)
    return f'<div style="{paper}">{pictures}</div>'


def _flexible(width: float) -> str:
    """As wide as the page, up to the width of the drawing; on a narrow page it scrolls."""
    least = _number(width * SHRINKS)
    return f"display:block;width:100%;height:auto;max-width:{_number(width)}px;min-width:{least}px"


def _all(shapes: Iterable[Shape]) -> str:
    return "".join(map(_shape, shapes))


def _shape(shape: Shape) -> str:
    if isinstance(shape, Compound):
        tip = f"<title>{_clean(shape.tip)}</title>" if shape.tip else ""
        return f'<g class="{shape.role}">{tip}{_all(shape.shapes)}</g>'
    if isinstance(shape, Rect):
        return _rect(shape)
    if isinstance(shape, Line):
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
        dashes = ' stroke-dasharray="3 3"' if shape.dashed else ""
        return (
            f'<polyline points="{points}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{_number(shape.width)}"{dashes}/>'
        )
    return _text(shape)


def _rect(rect: Rect) -> str:
    role = f' class="{rect.role}"' if rect.role else ""
    corners = f' rx="{_number(rect.radius)}"' if rect.radius else ""
    return (
        f'<rect{role} x="{_number(rect.x)}" y="{_number(rect.y)}" width="{_number(rect.width)}" '
        f'height="{_number(rect.height)}"{corners} fill="{rect.fill}" stroke="{rect.stroke}"/>'
    )


def _text(text: Text) -> str:
    weight = ' font-weight="bold"' if text.bold else ""
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    return (
        f'<text x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(text.size)}" '
        f'fill="{text.colour}"{weight}{anchor}>{_clean(text.text)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _clean(text: str) -> str:
    """Escaped; what cannot be seen, or what XML cannot hold, is shown by its code."""
    return escape(visible(text))
