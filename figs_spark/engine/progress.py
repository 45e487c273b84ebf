"""How far a fit is, told to whoever waits for it."""

from __future__ import annotations

PROFILE, PACK, GROW = "profile", "pack", "grow"  # the phases of a fit


class Progress:
    """Told of phases and of greedy steps. This one shows nothing."""

    def phase(self, name: str) -> None:
        """A phase begins."""

    def __call__(self, models: int) -> None:
        """A greedy step of so many models is done."""


QUIET = Progress()
