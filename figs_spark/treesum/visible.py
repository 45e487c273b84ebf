"""Characters that a reader cannot see, or that turn a line around, shown as escapes.

Names come from data. A NUL, an escape sequence of a terminal, or a character that reverses the
direction of what follows could hide a condition or show another one.
"""

from __future__ import annotations

import re

# Control characters but for the end of a line, marks and overrides of the direction of writing,
# spaces of no width, separators of lines, and halves of characters.
_HIDDEN = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f"
    "\\ud800-\\udfff\\ufeff\\ufff9-\\ufffb\\ufffe\\uffff\\U000e0000-\\U000e007f]"
)


def visible(text: str) -> str:
    """The text with escapes such as \\u202e for what cannot be seen; the ends of lines stay."""
    return _HIDDEN.sub(lambda match: _escaped(match[0]), text)


def visible_name(name: str) -> str:
    """A name as part of a line: the ends of lines are escapes, too."""
    return visible(name).replace("\n", "\\n")


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
