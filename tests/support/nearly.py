"""Models as JSON that are equal but for the last digits of their numbers."""

from __future__ import annotations

from typing import Any

import pytest


def about(data: Any, rel: float = 1e-6) -> Any:
    """Sums over rows may differ in the last digits, by the order in which they were added."""
    if isinstance(data, dict):
        return {key: about(value, rel) for key, value in data.items()}
    if isinstance(data, list):
        return [about(value, rel) for value in data]
    return pytest.approx(data, rel=rel, abs=1e-9) if isinstance(data, float) else data
