"""Internal: the inner loops, each compiled by numba beside its plain twin in NumPy."""
