"""Internal: what all estimators and all models share."""
