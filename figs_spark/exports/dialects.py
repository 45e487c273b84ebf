"""How SQL dialects differ: quotes, literals, missing values, functions. One row per dialect.

Only what a statement of ours needs is here. A name or a text that a dialect cannot hold, or that a
client of it would change, is refused by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SAFE_DIGITS = 15  # a number of so many digits is read exactly by every reader
RISKY = re.compile(r"\$\{|\{\{|\{%|\{#|&|\$\(|\$\$")  # what templates and clients replace


@dataclass(frozen=True)
class Dialect:
    """The differences of one dialect."""

    name: str
    double: Callable[[float], str]
    text: Callable[[str], str]
    quotes: str = '""'
    longest_name: int | None = None
    bytes_counted: bool = False  # in longest_name
    not_in_names: str = "\0"
    infinity: str | None = None  # {} is the sign
    nan_test: str | None = None
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    exact_text: str = "{}"  # a text column, compared letter by letter
    start_of_text: str = "SUBSTRING({}, 1, {})"
    greatest: str | None = "GREATEST"
    least: str | None = "LEAST"
    array: str | None = None
    types: tuple[str, str, str] = ("DOUBLE PRECISION", "VARCHAR(4000)", "BOOLEAN")
    longest_text: int | None = None  # bytes
    empty_text_is_null: bool = False
    names_by_function: str | None = None  # such as "${", which cannot stand in a quoted name
    threshold: Callable[[float], str] | None = None  # if a literal in a test needs more care
    variables: Mapping[str, str] | None = None  # what stands for a column, if not its name

    def quoted(self, name: str) -> str:
        """A name in quotes that it cannot leave."""
        if self.variables is not None and name in self.variables:
            return self.variables[name]
        self._check_name(name)
        opening, closing = self.quotes[0], self.quotes[1]
        quoted = opening + name.replace(closing, closing * 2) + closing
        if self.names_by_function and self.names_by_function in name:
            return f"IDENTIFIER({self.text(quoted)})"
        return quoted

    def _check_name(self, name: str) -> None:
        bad = sorted({c for c in self.not_in_names if c in name})
        if not name or bad:
            reason = f"it holds {bad[0]!r}" if bad else "it is empty"
            self._refuse("name", name, reason, "Rename the column")
        size = len(name.encode("utf-8", "surrogatepass")) if self.bytes_counted else len(name)
        if self.longest_name is not None and size > self.longest_name:
            unit = "bytes" if self.bytes_counted else "characters"
            reason = f"it has {size:,} {unit}, and {self.longest_name} are allowed"
            self._refuse("name", name, reason, "Rename the column")
        if self.name == "tsql" and ("$(" in name or not name.isprintable()):
            reason = "sqlcmd would change '$(' and line breaks"
            self._refuse("name", name, reason, "Rename the column")
        _check_unicode(self, "name", name)

    def literal(self, text: str) -> str:
        """A text in quotes that it cannot leave."""
        _check_unicode(self, "text", text)
        if "\0" in text and self.name not in ("spark", "databricks"):
            self._refuse("text", text, "it holds the character NUL", "Recode the category")
        size = len(text.encode())
        if self.longest_text is not None and size > self.longest_text:
            reason = f"it has {size:,} bytes, and {self.longest_text:,} are allowed"
            self._refuse("text", text, reason, "Recode the category")
        return self.text(text)

    def number(self, value: float) -> str:
        """A double; infinite ones only if the dialect has them."""
        if math.isfinite(value):
            return self.double(value)
        if self.infinity is None or math.isnan(value):
            raise ValueError(f"The dialect '{self.name}' has no literal for {value}.")
        return self.infinity.format("-" if value < 0 else "")

    def limit(self, value: float) -> str:
        """A double that values are compared with: exact to the last bit."""
        if self.threshold is not None and math.isfinite(value):
            return self.threshold(value)
        return self.number(value)

    def _refuse(self, what: str, value: str, reason: str, remedy: str) -> None:
        raise ValueError(
            f"The {what} {shortened(value)} cannot be written in the dialect '{self.name}': "
            f"{reason}. {remedy}, or choose another dialect."
        )


def _check_unicode(dialect: Dialect, what: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        dialect._refuse(what, value, "it holds half of a surrogate pair", "Repair it")


def shortened(value: str) -> str:
    """A name for a message, on one line and not too long."""
    return repr(value) if len(value) <= 60 else f"{value[:57]!r}... ({len(value):,} characters)"


# Numbers


def _with_exponent(value: float) -> str:
    """A literal that standard SQL takes for a double, not for a decimal: 2.5e0."""
    shown = repr(value)
    return shown if "e" in shown else f"{shown}e0"


def _in_sqlite(value: float) -> str:
    """Exact: SQLite reads long decimals up to a unit in the last place off, so they become a
    whole number times a power of two."""
    shown = repr(value)
    digits = re.sub(r"e.*|\D", "", shown).strip("0")
    if len(digits) <= SAFE_DIGITS and (value == 0 or 1e-22 < abs(value) < 1e22):
        return shown
    mantissa, exponent = math.frexp(value)
    whole, power = int(mantissa * 2**53), exponent - 53
    steps = [2**62] * (abs(power) // 62) + [2 ** (abs(power) % 62)]
    return f"({whole} * 1.0 " + " ".join(f"{'*' if power > 0 else '/'} {s}" for s in steps) + ")"


def _cast(form: str) -> Callable[[float], str]:
    return lambda value: form.format(repr(value))


# Texts


def _doubled(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _in_spark(text: str) -> str:
    """A dollar and braces by their codes: `${x}` and `{{x}}` are replaced before parsing."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("{{", "\\u007B\\u007B")
    return "'" + "".join(f"\\u{ord(c):04X}" if c < " " or c == "$" else c for c in escaped) + "'"


def _in_postgres(text: str) -> str:
    if "\\" not in text:
        return _doubled(text)
    return "E" + _doubled(text.replace("\\", "\\\\"))


def _escaped(text: str) -> str:
    codes = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(codes.get(c, c) for c in text)


def _in_bigquery(text: str) -> str:
    return "'" + _by_code(_escaped(text).replace("'", "\\'")) + "'"


def _in_snowflake(text: str) -> str:
    return "'" + _by_code(_escaped(text).replace("'", "''")) + "'"


def _by_code(escaped: str) -> str:
    """What a template would replace, begun by the code of its first character."""
    return RISKY.sub(lambda m: f"\\x{ord(m[0][0]):02x}{m[0][1:]}", escaped)


def _with_backslashes(text: str) -> str:
    return _doubled(text.replace("\\", "\\\\"))


def _joined(prefix: str, whole: str, plus: str, code: str) -> Callable[[str], str]:
    """Literals in one piece, but line breaks and what clients replace by code."""

    def write(text: str) -> str:
        pieces = re.split(r"([\r\n&]|\$(?=\())", text)
        parts = [
            code.format(ord(piece)) if piece in ("\r", "\n", "&", "$") else prefix + _doubled(piece)
            for piece in pieces
            if piece
        ]
        return whole.format(plus.join(parts)) if len(parts) > 1 else "".join(parts) or f"{prefix}''"

    return write


SPARK = Dialect(
    name="spark",
    double=lambda value: f"{value!r}D",
    text=_in_spark,
    quotes="``",
    infinity="CAST('{}Infinity' AS DOUBLE)",
    nan_test="isnan({})",
    booleans=("false", "true"),
    array="array({})",
    types=("DOUBLE", "STRING", "BOOLEAN"),
    names_by_function="${",
)
_ALL = (
    SPARK,
    Dialect(**{**vars(SPARK), "name": "databricks", "longest_name": 255}),
    Dialect(
        name="ansi",
        double=_with_exponent,
        text=_doubled,
        start_of_text="SUBSTRING({} FROM 1 FOR {})",
        array="ARRAY[{}]",
    ),
    Dialect(
        name="postgres",
        double=lambda value: f"{value!r}::float8",
        text=_in_postgres,
        longest_name=63,
        bytes_counted=True,
        infinity="'{}Infinity'::float8",
        nan_test="{} = 'NaN'::float8",
        array="ARRAY[{}]",
        types=("double precision", "text", "boolean"),
    ),
    Dialect(
        name="tsql",
        double=_with_exponent,
        text=_joined("N", "CONCAT({})", ", ", "NCHAR({})"),
        quotes="[]",
        longest_name=128,
        booleans=("0", "1"),
        exact_text="{} COLLATE Latin1_General_100_BIN2",
        greatest=None,
        least=None,
        types=("float", "nvarchar(4000)", "bit"),
        longest_text=8000,
    ),
    Dialect(
        name="oracle",
        start_of_text="SUBSTR({}, 1, {})",
        double=lambda value: f"{value!r}D",
        text=_joined("", "({})", " || ", "CHR({})"),
        longest_name=128,
        bytes_counted=True,
        not_in_names='\0"\n\r',
        infinity="{}BINARY_DOUBLE_INFINITY",
        nan_test="{} IS NAN",
        booleans=("0", "1"),
        types=("BINARY_DOUBLE", "VARCHAR2(4000)", "NUMBER(1)"),
        longest_text=4000,
        empty_text_is_null=True,
    ),
    Dialect(
        name="snowflake",
        double=_cast("'{}'::FLOAT"),
        text=_in_snowflake,
        longest_name=255,
        not_in_names="\0&",
        infinity="'{}inf'::FLOAT",
        nan_test="{} = 'NaN'::FLOAT",
        array="ARRAY_CONSTRUCT({})",
        types=("FLOAT", "VARCHAR", "BOOLEAN"),
    ),
    Dialect(
        name="bigquery",
        start_of_text="SUBSTR({}, 1, {})",
        double=_with_exponent,
        text=_in_bigquery,
        quotes="``",
        longest_name=300,
        not_in_names='\0\n\r\t!"$()*,./;?@[\\]^`{}~',
        infinity="CAST('{}inf' AS FLOAT64)",
        nan_test="IS_NAN({})",
        array="[{}]",
        types=("FLOAT64", "STRING", "BOOL"),
    ),
    Dialect(
        name="redshift",
        double=_cast("'{}'::FLOAT8"),
        text=_with_backslashes,
        longest_name=127,
        bytes_counted=True,
        infinity="'{}Infinity'::FLOAT8",
        nan_test="{} = 'NaN'::FLOAT8",
        array="ARRAY({})",
        longest_text=65535,
    ),
    Dialect(
        name="mysql",
        double=_with_exponent,
        text=_with_backslashes,
        quotes="``",
        longest_name=64,
        exact_text="CAST(CONVERT({} USING utf8mb4) AS BINARY)",
        types=("DOUBLE", "TEXT", "BOOLEAN"),
    ),
    Dialect(
        name="duckdb",
        double=_with_exponent,
        text=_doubled,
        infinity="'{}Infinity'::DOUBLE",
        nan_test="isnan({})",
        array="[{}]",
        types=("DOUBLE", "VARCHAR", "BOOLEAN"),
    ),
    Dialect(
        name="sqlite",
        start_of_text="SUBSTR({}, 1, {})",
        double=repr,
        text=_doubled,
        infinity="{}9e999",
        booleans=("0", "1"),
        greatest="MAX",
        least="MIN",
        types=("REAL", "TEXT", "INTEGER"),
        threshold=_in_sqlite,
    ),
)
DIALECTS = {dialect.name: dialect for dialect in _ALL}


def dialect_named(name: str) -> Dialect:
    if name not in DIALECTS:
        raise ValueError(f"The dialect {name!r} is not known. There are {', '.join(DIALECTS)}.")
    return DIALECTS[name]
