"""The experiment on clinical decision instruments: its data, its protocol, its report."""
