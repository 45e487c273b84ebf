"""Runs exported files, model_0.py and so on, on rows.json; no other package is imported."""

import json
import runpy
import sys
from pathlib import Path


def row(predict, patient):
    try:
        found = predict(patient)
    except ValueError:  # a group that the model does not know
        return None
    scores = found["score"] if isinstance(found["score"], list) else [found["score"]]
    risks = (
        found["probability"] if isinstance(found["probability"], list) else [found["probability"]]
    )
    return [*scores, *(p for p in risks if p is not None), found["prediction"]]


folder, count = Path(sys.argv[1]), int(sys.argv[2])
patients = json.loads((folder / "rows.json").read_text())
predicts = [runpy.run_path(str(folder / f"model_{k}.py"))["predict"] for k in range(count)]
print(json.dumps([[row(predict, patient) for patient in patients] for predict in predicts]))
