"""JAX's programming model, light on its feet: arrays, `jit`, `grad`, `vmap`, compiled by LLVM."""

import jacana.runtime.dispatch  # installs eager evaluation
from jacana import lax as lax
from jacana import numpy as numpy
from jacana import random as random
from jacana import tree as tree
from jacana import tree_util as tree_util
from jacana.api.derivatives import hessian as hessian
from jacana.api.derivatives import jacfwd as jacfwd
from jacana.api.derivatives import jacobian as jacobian
from jacana.api.derivatives import jacrev as jacrev
from jacana.api.derivatives import jvp as jvp
from jacana.api.derivatives import linear_transpose as linear_transpose
from jacana.api.derivatives import linearize as linearize
from jacana.api.derivatives import vjp as vjp
from jacana.api.grad import grad as grad
from jacana.api.grad import value_and_grad as value_and_grad
from jacana.api.inspect import ShapeDtypeStruct as ShapeDtypeStruct
from jacana.api.inspect import eval_shape as eval_shape
from jacana.api.inspect import make_jaxpr as make_jaxpr
from jacana.api.inspect import typeof as typeof
from jacana.api.jit import jit as jit
from jacana.api.settings import config as config
from jacana.api.settings import debug_nans as debug_nans
from jacana.api.settings import disable_jit as disable_jit
from jacana.api.settings import enable_x64 as enable_x64
from jacana.api.vmap import vmap as vmap
from jacana.numpy.array_type import Array as Array

__version__ = "0.1.0"
# The release of JAX whose names and results are followed.
__jax_version__ = "0.10.2"
