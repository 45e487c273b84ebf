"""The environments that `make databricks-test` makes. Without them nothing here runs."""

from __future__ import annotations

import os

import pytest

CLIENTS = os.environ.get("FIGS_SPARK_CLIENTS", "").split()
WITH_CLIENTS = [
    pytest.mark.databricks,
    pytest.mark.skipif(not CLIENTS, reason="FIGS_SPARK_CLIENTS is not set: make databricks-test"),
]
