"""What talks to Spark and does not train: columns, versions of Spark, models as Columns."""
