"""Internal: the fitted model as plain data, a sum of small trees. Nothing here knows Spark."""

from figs_spark.treesum.nodes import Feature, Node, Split, TreeSum

__all__ = ["Feature", "Node", "Split", "TreeSum"]
