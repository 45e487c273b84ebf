"""Internal: G-FIGS, one small model per group of patients, each trained on all rows."""
