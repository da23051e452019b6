"""Random numbers from keys: `jax.random`."""

from jacana.random.choosing import (
    categorical as categorical,
    choice as choice,
    permutation as permutation,
)
from jacana.random.continuous import (
    cauchy as cauchy,
    exponential as exponential,
    gumbel as gumbel,
    laplace as laplace,
    logistic as logistic,
    pareto as pareto,
    rayleigh as rayleigh,
    triangular as triangular,
    wald as wald,
    weibull_min as weibull_min,
)
from jacana.random.counts import (
    binomial as binomial,
    multinomial as multinomial,
    poisson as poisson,
)
from jacana.random.gamma import (
    ball as ball,
    beta as beta,
    chisquare as chisquare,
    dirichlet as dirichlet,
    f as f,
    gamma as gamma,
    generalized_normal as generalized_normal,
    loggamma as loggamma,
    t as t,
)
from jacana.random.integers import (
    bernoulli as bernoulli,
    geometric as geometric,
    rademacher as rademacher,
    randint as randint,
)
from jacana.random.keys import (
    PRNGKey as PRNGKey,
    clone as clone,
    fold_in as fold_in,
    key as key,
    key_data as key_data,
    key_dtype as key_dtype,
    key_impl as key_impl,
    split as split,
    wrap_key_data as wrap_key_data,
)
from jacana.random.normal import (
    double_sided_maxwell as double_sided_maxwell,
    lognormal as lognormal,
    maxwell as maxwell,
    normal as normal,
    truncated_normal as truncated_normal,
)
from jacana.random.uniform import bits as bits, uniform as uniform
from jacana.random.vectors import (
    multivariate_normal as multivariate_normal,
    orthogonal as orthogonal,
)
