"""Faults on a real cluster, and the table of what was tried: `make torture`."""
