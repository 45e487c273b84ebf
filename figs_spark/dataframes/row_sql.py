"""SQL that may derive a column: a value of its own row, and nothing else.

Expressions are saved with a model, and a saved model is not trusted. So an expression may not read
other tables, call Java, make several rows of one, or depend on other rows, chance, the time or the
user. It is read in the tokens that Spark reads. What could hide a word from this check is refused:
comments, raw text, and functions that are called by a text.
"""

from __future__ import annotations

import re

REFUSED = {
    "reads other tables": ("select", "table", "lateral", "using"),
    "reads what is not in the table": (
        *("secret(", "try_secret(", "list_secrets(", "ai_query(", "http_request("),
        *("remote_query(", "vector_search(", "read_files("),
    ),
    "calls Java": ("reflect", "try_reflect", "java_method"),
    "depends on other rows": ("over", "monotonically_increasing_id", "spark_partition_id"),
    "makes several rows of one": (
        *("explode", "explode_outer", "posexplode", "posexplode_outer"),
        *("inline", "inline_outer", "stack"),
    ),
    "depends on chance": ("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"),
    "depends on when it is scored": (
        *("current_date", "current_timestamp", "current_time", "current_timezone", "curdate"),
        *("localtimestamp", "localtime", "now", "unix_timestamp()", "input_file_name"),
    ),
    "depends on who scores": ("current_user", "session_user", "user("),
    "calls a function by a text": ("identifier(",),
}
BEGINS_A_QUERY = ("from", "with", "values")  # behind a bracket
TOKEN = re.compile(
    r"""(?P<hidden>--|/\*|\|>|\b[rR](?=['"]))"""
    r"""|(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")"""
    r"""|(?P<name>`(?:[^`]|``)*`)"""
    r"""|(?P<word>\w+)"""
    r"""|(?P<mark>\S)""",
    re.DOTALL,
)


def check_expression(sql: str) -> None:
    """ValueError if an expression is empty, or more than a value derived from its row."""
    if not sql.strip():
        raise ValueError("the expression is empty")
    tokens = _tokens(sql)
    for place, (kind, text) in enumerate(tokens):
        after = "".join(token for _, token in tokens[place + 1 : place + 3])
        before = tokens[place - 1][1] if place else ""
        if problem := _problem(kind, text, before, after):
            raise ValueError(
                f"{sql!r:.80} {problem} ({text!r:.30}); a derived column is computed from the "
                f"other columns of its row"
            )


def names_in(sql: str) -> set[str]:
    """The names in an expression that are not called: columns, fields and words of SQL."""
    tokens = _tokens(sql)
    behind = [text for _, text in tokens[1:]] + [""]
    return {
        _unquoted(kind, text)
        for (kind, text), after in zip(tokens, behind, strict=True)
        if kind in ("word", "name") and after != "("
    }


def _tokens(sql: str) -> list[tuple[str, str]]:
    return [(str(match.lastgroup), match[0]) for match in TOKEN.finditer(sql)]


def _unquoted(kind: str, text: str) -> str:
    return text[1:-1].replace("``", "`") if kind == "name" else text


def _problem(kind: str, text: str, before: str, after: str) -> str | None:
    """What is wrong with a token; `before` is the one before, `after` are the two behind it."""
    if kind == "hidden":
        return "has a comment, raw text or a pipe"
    if kind == "mark" and text in "'\"`":
        return "has a text or name without an end"
    called = after.startswith("(")
    if not (kind == "word" or (kind == "name" and called)):
        return None
    word = _unquoted(kind, text).lower()
    forms = {word, f"{word}(" if called else "", f"{word}()" if after == "()" else ""}
    if kind == "word" and before == "(" and word in BEGINS_A_QUERY:
        return "reads other tables"
    return next((problem for problem, refused in REFUSED.items() if forms & set(refused)), None)
