"""Internal: a first look at a table, before any model is fitted."""
