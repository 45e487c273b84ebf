"""Internal: the page that a clinician holds, one HTML file that needs nothing else.

`fields` asks, `program` and calculator.js compute, `document` puts all sections together.
"""
