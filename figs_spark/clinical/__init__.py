"""Internal: how good is a score? Whom it finds, whom it spares, how right its risks are."""
