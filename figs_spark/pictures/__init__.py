"""Pictures of a model: laid out once as plain shapes, drawn as SVG or by matplotlib. No Spark."""
