"""The options of Spark's readers. Spark ignores a name that it does not know: a warning says so."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from figs_spark.app.config import nearest

log = logging.getLogger("figs_spark")

CSV = {"header": "true", "inferSchema": "true"}  # unless an option says otherwise

EVERY_FILE = (
    "ignoreCorruptFiles ignoreMissingFiles modifiedAfter modifiedBefore pathGlobFilter "
    "recursiveFileLookup maxFilesPerTrigger maxBytesPerTrigger latestFirst fileNameOnly maxFileAge "
    "cleanSource sourceArchiveDir maxCachedFiles discardCachedInputRatio"
)
TEXT_FILE = (
    " columnNameOfCorruptRecord compression dateFormat enableDateTimeParsingFallback encoding "
    "charset lineSep locale mode multiLine samplingRatio timestampFormat timestampNTZFormat "
    "timeZone singleVariantColumn preferDate"
)
NAMES = {
    "csv": (
        "sep delimiter quote escape charToEscapeQuoteEscaping comment header inferSchema "
        "enforceSchema ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace nullValue emptyValue "
        "nanValue positiveInf negativeInf maxColumns maxCharsPerColumn unescapedQuoteHandling "
        "escapeQuotes quoteAll columnPruning inputBufferSize extension"
    )
    + TEXT_FILE,
    "json": (
        "primitivesAsString prefersDecimal allowComments allowUnquotedFieldNames "
        "allowSingleQuotes allowNumericLeadingZeros allowBackslashEscapingAnyCharacter "
        "allowUnquotedControlChars allowNonNumericNumbers dropFieldIfAllNull inferTimestamp "
        "ignoreNullFields"
    )
    + TEXT_FILE,
    "parquet": "mergeSchema datetimeRebaseMode int96RebaseMode",
    "orc": "mergeSchema",
}


NOT_INHERITED = {"mode", "columnNameOfCorruptRecord"}  # they decide which rows are read


def inherited(kind: str, options: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The options of training that another table is read with, and the names of the others.

    They say how a text is read. A model file is not trusted: it must not choose files or rows, set
    up a file system, or have a stream delete what it has read (cleanSource).
    """
    allowed = {name.lower() for name in set(NAMES.get(kind, "").split()) - NOT_INHERITED}
    kept = {name: value for name, value in options.items() if name.lower() in allowed}
    return kept, [name for name in options if name not in kept]


def reader_options(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options for a format; CSV has a header and types unless they say otherwise."""
    own = {name.lower() for name in options}
    defaults = CSV if kind == "csv" else {}
    return {n: v for n, v in defaults.items() if n.lower() not in own} | dict(options)


def unknown(kind: str, options: Iterable[str]) -> list[str]:
    """The names that Spark ignores; one with a dot is that of a file system, and "path" is read."""
    if kind not in NAMES:
        return []
    known = {name.lower() for name in ["path", *_known(kind)]}
    return [name for name in options if name.lower() not in known and "." not in name]


def warn_of_unknown(kind: str, options: Iterable[str], origins: Mapping[str, str]) -> None:
    """Name the options that Spark ignores, where each was set, and the nearest name."""
    for name in unknown(kind, options):
        key = f"options.{name}"
        hint = nearest(name, _known(kind))
        log.warning("%s: Spark's %s reader ignores it; %s", origins.get(key, key), kind, hint)


def _known(kind: str) -> list[str]:
    return f"{NAMES[kind]} {EVERY_FILE}".split()
