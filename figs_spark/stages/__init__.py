"""Internal: the estimators and models as Spark ML stages, in pure Python."""
