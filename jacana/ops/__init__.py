"""First-order primitives. Rules reach each other through this package: `ops.mul(t, ops.cos(x))`."""
from jacana.ops.arithmetic import add as add
from jacana.ops.arithmetic import div as div
from jacana.ops.arithmetic import mul as mul
from jacana.ops.arithmetic import neg as neg
from jacana.ops.arithmetic import sub as sub
