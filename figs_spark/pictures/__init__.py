"""Internal: pictures of a model as plain shapes, drawn as SVG or by matplotlib. No Spark."""
