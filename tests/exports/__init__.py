"""Exports in real engines: databases, onnxruntime, JPMML, a fresh interpreter, Spark SQL."""
