"""Internal: training, from a Spark DataFrame to a TreeSum. It knows NumPy, but not pyspark.ml."""
