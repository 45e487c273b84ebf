"""A fitted model inside a report, and back: the file alone restores it.

Counts of few rows are left out of it, and so is what a path could tell; it predicts the same. Then
its fingerprint is another one, and the report has both.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pyspark

from figs_spark.exports.page.document import REPORT
from figs_spark.stages.base.persistence import (
    PACKAGE,
    metadata_of,
    model_text,
    set_model,
    stage_from,
)
from figs_spark.treesum.counts import tells_small_counts, without_counts
from figs_spark.treesum.serialization import is_version
from figs_spark.treesum.small_cells import hidden
from figs_spark.treesum.strict_json import Entry, check_digest, digest, parse

FORMAT, VERSION = "figs_spark.report", 1
PRIVATE = ("workDir",)  # Params that say something of a machine, and nothing of the model
BLOCK = re.compile(rf'<script type="application/json" id="{REPORT}">(.*?)</script>', re.DOTALL)


def embedded(model: Any, least: int, content: dict[str, Any]) -> dict[str, Any]:
    """The model, and all else that the report shows, as JSON with a digest."""
    safe = _without_small_counts(model, least)
    metadata = metadata_of(safe, pyspark.__version__)
    metadata = {k: v for k, v in metadata.items() if k not in ("parts", "digest", "timestamp")}
    for name in ("paramMap", "defaultParamMap"):
        metadata[name] = {k: v for k, v in metadata[name].items() if k not in PRIVATE}
    data = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": model.fingerprint,
        "metadata": metadata,
        "model": json.loads(model_text(safe)),
        **content,
    }
    data = json.loads(json.dumps(data, allow_nan=False))
    return data | {"digest": digest(data)}


def _without_small_counts(model: Any, least: int) -> Any:
    family = model._family()
    point = getattr(model, "_operating_point", None)
    safe = model
    if tells_small_counts(family.sums, least):
        safe = safe._with_sums(without_counts)
        if safe.hasParam("riskIntervalCol"):
            safe._set(riskIntervalCol="")  # intervals are left out, too
    if point is not None and any(hidden((point.tp, point.fn, point.tn, point.fp), least)):
        safe = safe.copy()
        safe._operating_point = None
    if sizes := getattr(safe, "_effective", None):
        safe = safe.copy()
        safe._effective = {group: n if n >= least else 0.0 for group, n in sizes.items()}
    return safe


def load_report(path: str | Path) -> Any:
    """The model that a report holds, of the class that it was.

    It scores, prints and exports as before. If the report leaves out counts of few rows, they are 0
    in the model. The membership model of a G-FIGS is not part of a report.
    """
    source = str(path)
    try:
        text = Path(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} is not a report: it is not text in UTF-8.") from error
    blocks = BLOCK.findall(text)
    if len(blocks) != 1:
        raise ValueError(f"{source} is not a report of figs_spark: it holds no model.")
    data = Entry(parse(blocks[0], source), source).object()
    if data.get("format") != FORMAT or not is_version(data.get("version"), VERSION):
        raise ValueError(
            f"{source} has the format {data.get('format')!r}, version {data.get('version')!r}; "
            f"this figs_spark reads {FORMAT}, version {VERSION}."
        )
    check_digest(data.get("digest"), {k: v for k, v in data.items() if k != "digest"}, source)
    metadata = Entry(data.get("metadata"), source, "metadata").object()
    stage = stage_from(metadata, _class(metadata.get("class"), source), source)
    set_model(stage, data.get("model"), source)
    return stage


def _class(name: Any, source: str) -> Any:
    package = import_module(PACKAGE)
    title = str(name).removeprefix(f"{PACKAGE}.")
    if title not in package.__all__ or not title.endswith("Model"):
        raise ValueError(f"{source} is damaged: {name!r:.80} is not a model of figs_spark.")
    return getattr(package, title)
