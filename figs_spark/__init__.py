"""Fast Interpretable Greedy-Tree Sums (FIGS) on Apache Spark."""

__version__ = "0.1.0"
