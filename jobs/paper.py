"""The experiments of the FIGS paper, run again: see `jobs/paper/command.py`.

spark-submit jobs/paper.py --data ../shared/data --output build/paper
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # spark-submit has only jobs there

from jobs.paper.command import main

if __name__ == "__main__":
    raise SystemExit(main())
