"""Training: from a Spark DataFrame to a TreeSum. Knows DataFrames and NumPy, not pyspark.ml."""
