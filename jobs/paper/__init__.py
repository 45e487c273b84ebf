"""The experiments of the FIGS paper: one module for each part, and what they share."""
