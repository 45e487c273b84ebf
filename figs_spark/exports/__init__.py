"""Internal: a fitted model in other languages, SQL, PMML, ONNX, Python, FHIR; each proves itself.

All start from an `Instrument`, the model as plain data. Nothing here knows Spark.
"""
