"""First-order primitives. Rules reach each other through this package: `ops.mul(t, ops.cos(x))`."""

from jacana.ops.arithmetic import add as add, div as div, mul as mul, neg as neg, sub as sub
from jacana.ops.contraction import dot_general as dot_general
from jacana.ops.cumulative import (
    cumlogsumexp as cumlogsumexp,
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
    linear_recurrence as linear_recurrence,
)
from jacana.ops.gather import (
    GatherDimensionNumbers as GatherDimensionNumbers,
    GatherScatterMode as GatherScatterMode,
    gather as gather,
)
from jacana.ops.joining import concatenate as concatenate, pad as pad
from jacana.ops.reduction import (
    argmax as argmax,
    argmin as argmin,
    reduce_and as reduce_and,
    reduce_max as reduce_max,
    reduce_min as reduce_min,
    reduce_or as reduce_or,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    reduce_xor as reduce_xor,
)
from jacana.ops.scatter import (
    ScatterDimensionNumbers as ScatterDimensionNumbers,
    scatter as scatter,
    scatter_add as scatter_add,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_sub as scatter_sub,
)
from jacana.ops.shape import (
    broadcast_in_dim as broadcast_in_dim,
    iota as iota,
    reshape as reshape,
    rev as rev,
    split as split,
    squeeze as squeeze,
    transpose as transpose,
)
from jacana.ops.slicing import (
    dynamic_slice as dynamic_slice,
    dynamic_update_slice as dynamic_update_slice,
    slice as slice,
)
