from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.exports.postgres import binaries, server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A connection to a PostgreSQL server of our own."""
    psycopg = pytest.importorskip("psycopg")
    folder = binaries()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    with server(folder) as parameters, psycopg.connect(parameters, autocommit=True) as connection:
        yield connection
