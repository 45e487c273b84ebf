"""Dates and times as the numbers that trees split: days, or seconds, since 1970.

A timestamp is a point in time, shown in UTC. A local timestamp has no time zone: it is shown as it
is written.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

DATE, TIMESTAMP, LOCAL_TIMESTAMP = TIMES = ("date", "timestamp", "timestamp_ntz")
EPOCH = datetime(1970, 1, 1)
DAY = 86_400.0
UNITS = {
    DATE: "days since 1970-01-01",
    TIMESTAMP: "seconds since 1970-01-01 00:00:00 UTC",
    LOCAL_TIMESTAMP: "seconds since 1970-01-01 00:00:00, without a time zone",
}


def to_number(kind: str, value: Any) -> Any:
    """A date or time, also one of NumPy or pandas, as a number; None and numbers stay as they are.

    A time without a zone counts as UTC.
    """
    if value is None or value != value:  # NaT
        return None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, date):
        return value
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    seconds = (value - EPOCH) / timedelta(seconds=1)
    return math.floor(seconds / DAY) if kind == DATE else seconds


def to_numbers(kind: str, cells: NDArray[Any]) -> NDArray[np.float64]:
    """A column of dates or times as float64, NaN where it is missing."""
    numbers = [to_number(kind, cell) for cell in cells]
    return np.array([np.nan if n is None else n for n in numbers], dtype=np.float64)


def shown_time(kind: str, value: float) -> str:
    """A number of days or seconds as a date or time; a limit between two days shows the earlier.

    A number beyond the years 1 to 9999 stays a number.
    """
    try:
        if kind == DATE:
            return (EPOCH + timedelta(days=math.floor(value))).date().isoformat()
        moment = EPOCH + timedelta(seconds=value)
    except (OverflowError, ValueError):
        return str(value)
    text = moment.isoformat(" ", "seconds" if moment.microsecond == 0 else "milliseconds")
    return f"{text} UTC" if kind == TIMESTAMP else text
