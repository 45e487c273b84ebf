"""Internal: the Params. Each is declared once; a stage lists the Params that it has."""
