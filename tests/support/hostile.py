"""Texts that want to be markup, script or style, or to turn a line around."""

from __future__ import annotations

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><style>*{display:none}</style>",
    "' onload='alert(1)",
    "</script><script>alert(2)</script>",
    "\u202eexe.gpj \u2066hidden\u2069",
    "😀 ⅓ größe",
    "javascript:alert(1)",
    "<!-- -->",
    "&lt;b&gt; &amp;",
)
