"""Internal: what talks to Spark and does not train: columns, versions of Spark, expressions."""
