"""What jobs/benchmark.py is made of."""
