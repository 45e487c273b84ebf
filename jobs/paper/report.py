"""The report: the same blocks as Markdown, with figures as files, and as one HTML file."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.paper.deviations import DEVIATIONS, OURS
from jobs.paper.sections import Claim, Grid, Picture, Section

TITLE = "The FIGS paper, run again"
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0;font-size:14px}"
    "th,td{border:1px solid #ccc;padding:.25rem .6rem;text-align:left}"
    "th{background:#f3f3f3}img{max-width:100%}figcaption,caption{color:#555;text-align:left}"
)


@dataclass(frozen=True)
class Report:
    """The sections by part, and facts about the run: versions, seeds, time."""

    sections: dict[str, Section]
    facts: Sequence[tuple[str, str]]

    def write(self, folder: Path) -> None:
        """`report.md` with `figures/`, and `report.html`, which needs no other file."""
        figures = folder / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        images = {}
        for picture in self._pictures():
            image = io.BytesIO()
            picture.figure.savefig(image, dpi=110, metadata={"Software": None})
            images[picture.name] = image.getvalue()
            (figures / f"{picture.name}.png").write_bytes(images[picture.name])
        blocks = list(self._blocks())
        markdown = "\n\n".join(_markdown(block) for block in blocks)
        (folder / "report.md").write_text(f"# {TITLE}\n\n{markdown}\n", "utf-8")
        body = "\n".join(_html(block, images) for block in blocks)
        head = f'<meta charset="utf-8"><title>{TITLE}</title><style>{STYLE}</style>'
        page = f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{TITLE}</h1>'
        (folder / "report.html").write_text(f"{page}{body}</body></html>\n", "utf-8")

    def _pictures(self) -> Iterator[Picture]:
        for section in self.sections.values():
            yield from (block for block in section.blocks if isinstance(block, Picture))

    def _blocks(self) -> Iterator[str | Grid | Picture]:
        yield "## Does it do what the paper says?"
        yield self._claims()
        yield "## The run"
        yield Grid("", ["what", "value"], [list(fact) for fact in self.facts])
        for part, section in self.sections.items():
            yield f"## {section.title}"
            yield f"{section.text} (`--only {part}`)"
            yield from section.blocks
        yield "## Where the published experiments deviate"
        yield Grid("", ["published", "here"], DEVIATIONS)
        yield "Where this run deviates from the paper: " + " ".join(OURS)

    def _claims(self) -> Grid:
        rows = [
            [part, claim.text, claim.measured, claim.verdict]
            for part, section in self.sections.items()
            for claim in section.claims
        ]
        made = [claim for section in self.sections.values() for claim in section.claims]
        columns = ["part", "claim", "measured", "holds?"]
        return Grid(_count(made), columns, rows)


def _count(claims: Sequence[Claim]) -> str:
    yes, no = (sum(claim.holds is value for claim in claims) for value in (True, False))
    rest = len(claims) - yes - no
    return f"{yes} claims hold, {no} do not" + (f", {rest} could not be decided" if rest else "")


def _markdown(block: str | Grid | Picture) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Picture):
        return f"![{block.caption}](figures/{block.name}.png)"
    lines = [block.columns, ["---"] * len(block.columns), *block.rows]
    table = "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)
    return f"**{block.caption}**\n\n{table}" if block.caption else table


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _html(block: str | Grid | Picture, images: dict[str, bytes]) -> str:
    if isinstance(block, str):
        if block.startswith("## "):
            return f"<h2>{html.escape(block[3:])}</h2>"
        return f"<p>{_inline(block)}</p>"
    if isinstance(block, Picture):
        data = base64.b64encode(images[block.name]).decode()
        caption = html.escape(block.caption)
        image = f'<img alt="{caption}" src="data:image/png;base64,{data}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    head = "".join(f"<th>{_inline(name)}</th>" for name in block.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>"
        for row in block.rows
    )
    caption = f"<caption><b>{html.escape(block.caption)}</b></caption>" if block.caption else ""
    return f"<table>{caption}<tr>{head}</tr>{rows}</table>"


def _inline(text: str) -> str:
    """Escaped, with code and bold text as HTML."""
    escaped = html.escape(text)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", escaped)
