"""Random numbers from keys: `jax.random`."""
from jacana.random.distributions import bernoulli as bernoulli
from jacana.random.distributions import exponential as exponential
from jacana.random.distributions import gumbel as gumbel
from jacana.random.distributions import normal as normal
from jacana.random.distributions import randint as randint
from jacana.random.distributions import truncated_normal as truncated_normal
from jacana.random.distributions import uniform as uniform
from jacana.random.keys import PRNGKey as PRNGKey
from jacana.random.keys import bits as bits
from jacana.random.keys import clone as clone
from jacana.random.keys import fold_in as fold_in
from jacana.random.keys import key as key
from jacana.random.keys import key_data as key_data
from jacana.random.keys import key_impl as key_impl
from jacana.random.keys import split as split
from jacana.random.keys import wrap_key_data as wrap_key_data
