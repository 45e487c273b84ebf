"""What all estimators and models share: input, checks, output, saving."""
