"""Internal: the jobs. From a YAML file and a command line to tables and models on disk."""
