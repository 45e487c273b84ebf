from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
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
    with ExitStack() as stack:
        try:
            parameters = stack.enter_context(server(folder))
        except OSError as error:
            pytest.skip(f"PostgreSQL does not start here: {error}")
        yield stack.enter_context(psycopg.connect(parameters, autocommit=True))
