"""G-FIGS: one small model per group of patients, each on all rows."""
