"""Primitives that draw by rejection; test_random_variates.py has more, and random_gamma."""

from jacana import ops
from jacana.testing.cases import exactly, keys, uniform
from tests.ops.cases import case

low, high = uniform(0.1, 10.0, 5), uniform(10.0, 300.0, 5)
few, many = uniform(1.0, 20.0, 5), uniform(100.0, 1000.0, 5)
rare, often = uniform(0.05, 0.5, 5), uniform(0.2, 0.5, 5)
rounds = exactly(5.0)

for partitionable in (True, False):
    for log_space in (True, False):
        params = {"partitionable": partitionable, "log_space": log_space}
        # The rule keeps a sample's quantile, which differences of samples do not.
        case(ops.random_gamma, keys(5), uniform(0.5, 9.0, 5), **params).without("jvp").within(64)
    case(ops.random_poisson_by_products, keys(), low, partitionable=partitionable)
    case(ops.random_poisson_rounds, keys(), high, partitionable=partitionable)
    case(ops.random_poisson, keys(), high, rounds, partitionable=partitionable)
    case(ops.random_binomial_by_gaps, keys(), few, rare, partitionable=partitionable)
    case(ops.random_binomial_rounds, keys(), many, often, partitionable=partitionable)
    case(ops.random_binomial, keys(), many, often, rounds, partitionable=partitionable)
