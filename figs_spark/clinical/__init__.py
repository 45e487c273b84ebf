"""How good is a score? Whom it finds, whom it spares, and whether its probabilities are right."""
