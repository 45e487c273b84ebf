"""The regression functions of the supplement, A to D, and rows drawn from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from jobs.paper.tables import Numbers, Sample

FEATURES, NOISE = 50, 0.1
BLOCKS, ORDER = 5, 3  # of C and D: five products of three features


def linear(x: Numbers) -> Numbers:
    return x[:, : BLOCKS * ORDER].sum(axis=1)


def one_interaction(x: Numbers) -> Numbers:
    return (x[:, :8] > 0.1).all(axis=1).astype(float)


def products(x: Numbers) -> Numbers:
    return x[:, : BLOCKS * ORDER].reshape(len(x), BLOCKS, ORDER).prod(axis=2).sum(axis=1)


def interactions(x: Numbers) -> Numbers:
    above = x[:, : BLOCKS * ORDER].reshape(len(x), BLOCKS, ORDER) > 0.5
    return above.all(axis=2).sum(axis=1).astype(float)


FUNCTIONS: dict[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "A": ("linear: sum of 15 features", linear),
    "B": ("one Boolean interaction of 8 features", one_interaction),
    "C": ("sum of 5 products of 3 features", products),
    "D": ("sum of 5 Boolean interactions of 3 features", interactions),
}


def uniform(random: np.random.Generator, rows: int, features: int, correlation: float) -> Numbers:
    """Uniform features; with a correlation, that of the normal numbers they are made of."""
    if correlation == 0:
        return random.random((rows, features))
    common = random.normal(size=(rows, 1))
    own = random.normal(size=(rows, features))
    mixed = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return np.asarray(norm.cdf(mixed), float)


def drawn(name: str, rows: int, seed: int, correlation: float = 0.0) -> Sample:
    """Rows with noise. The seed of a repeat gives other rows for every number of rows."""
    random = np.random.default_rng([seed, rows, ord(name)])
    values = uniform(random, rows, FEATURES, correlation)
    return Sample(values, FUNCTIONS[name][1](values) + NOISE * random.normal(size=rows))


def noiseless(name: str, rows: int, seed: int) -> Sample:
    """Test rows: what the function gives, without noise."""
    values = np.random.default_rng([seed, rows, ord(name), 1]).random((rows, FEATURES))
    return Sample(values, FUNCTIONS[name][1](values))
