"""Primitives that draw by rejection. Laws read no keys: test_random_variates.py holds them."""

import numpy as np

from jacana import ops
from jacana.testing.laws import LAWS
from tests.ops.cases import case

for primitive in (
    ops.random_gamma, ops.random_poisson_by_products, ops.random_poisson_rounds,
    ops.random_poisson, ops.random_binomial_by_gaps, ops.random_binomial_rounds,
    ops.random_binomial,
):  # fmt: skip
    case(primitive, lambda rng: np.zeros((), np.uint32)).without(*LAWS)
