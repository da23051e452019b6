"""First-order primitives. Rules reach each other through this package: `ops.mul(t, ops.cos(x))`."""

from typing import TYPE_CHECKING

from jacana.core.deferred import deferred
from jacana.ops.arg_extremes import argmax as argmax, argmin as argmin
from jacana.ops.arithmetic import (
    add as add,
    add_any as add_any,
    div as div,
    mul as mul,
    mulhi as mulhi,
    neg as neg,
    rem as rem,
    square as square,
    sub as sub,
)
from jacana.ops.barriers import (
    name as name,
    optimization_barrier as optimization_barrier,
    stop_gradient as stop_gradient,
)
from jacana.ops.bitwise import (
    and_ as and_,
    clz as clz,
    not_ as not_,
    or_ as or_,
    population_count as population_count,
    shift_left as shift_left,
    shift_right_arithmetic as shift_right_arithmetic,
    shift_right_logical as shift_right_logical,
    xor as xor,
)
from jacana.ops.comparison import (
    eq as eq,
    eq_to as eq_to,
    ge as ge,
    gt as gt,
    le as le,
    le_to as le_to,
    lt as lt,
    lt_to as lt_to,
    ne as ne,
    select_n as select_n,
)
from jacana.ops.constraint import sharding_constraint as sharding_constraint
from jacana.ops.contraction import dot_general as dot_general
from jacana.ops.convert import (
    bitcast_convert_type as bitcast_convert_type,
    complex as complex,
    conj as conj,
    convert_element_type as convert_element_type,
    copy as copy,
    imag as imag,
    real as real,
    reduce_precision as reduce_precision,
)
from jacana.ops.convolution import conv_general_dilated as conv_general_dilated
from jacana.ops.convolution_geometry import ConvDimensionNumbers as ConvDimensionNumbers
from jacana.ops.cumulative import (
    cumlogsumexp as cumlogsumexp,
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
    linear_recurrence as linear_recurrence,
)
from jacana.ops.exponential import (
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    logistic as logistic,
)
from jacana.ops.fft import FftType as FftType, fft as fft
from jacana.ops.folds import reduce as reduce, reduce_window as reduce_window
from jacana.ops.gather import (
    GatherDimensionNumbers as GatherDimensionNumbers,
    GatherScatterMode as GatherScatterMode,
    gather as gather,
)
from jacana.ops.hyperbolic import (
    acosh as acosh,
    asinh as asinh,
    atanh as atanh,
    cosh as cosh,
    sinh as sinh,
    tanh as tanh,
)
from jacana.ops.joining import concatenate as concatenate, pad as pad
from jacana.ops.magnitude import (
    abs as abs,
    clamp as clamp,
    max as max,
    min as min,
    sign as sign,
)
from jacana.ops.powers import (
    cbrt as cbrt,
    integer_pow as integer_pow,
    pow as pow,
    rsqrt as rsqrt,
    sqrt as sqrt,
)
from jacana.ops.random_bits import (
    random_bits as random_bits,
    random_clone as random_clone,
    random_fold_in as random_fold_in,
    random_seed as random_seed,
    random_split as random_split,
    random_unwrap as random_unwrap,
    random_wrap as random_wrap,
    threefry2x32 as threefry2x32,
)
from jacana.ops.random_variates import (
    random_binomial as random_binomial,
    random_binomial_by_gaps as random_binomial_by_gaps,
    random_binomial_rounds as random_binomial_rounds,
    random_gamma as random_gamma,
    random_poisson as random_poisson,
    random_poisson_by_products as random_poisson_by_products,
    random_poisson_rounds as random_poisson_rounds,
)
from jacana.ops.reduction import (
    reduce_and as reduce_and,
    reduce_max as reduce_max,
    reduce_min as reduce_min,
    reduce_or as reduce_or,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    reduce_xor as reduce_xor,
)
from jacana.ops.rounding import (
    ceil as ceil,
    floor as floor,
    is_finite as is_finite,
    nextafter as nextafter,
    round as round,
)
from jacana.ops.scatter import (
    scatter as scatter,
    scatter_add as scatter_add,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_sub as scatter_sub,
)
from jacana.ops.scatter_layout import ScatterDimensionNumbers as ScatterDimensionNumbers
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
from jacana.ops.sorting import approx_top_k as approx_top_k, sort as sort, top_k as top_k
from jacana.ops.special import (
    bessel_i0e as bessel_i0e,
    bessel_i1e as bessel_i1e,
    digamma as digamma,
    erf as erf,
    erf_inv as erf_inv,
    erfc as erfc,
    igamma as igamma,
    igamma_grad_a as igamma_grad_a,
    igammac as igammac,
    lgamma as lgamma,
    polygamma as polygamma,
    random_gamma_grad as random_gamma_grad,
    regularized_incomplete_beta as regularized_incomplete_beta,
    zeta as zeta,
)
from jacana.ops.stacking import stack as stack, tile as tile, unstack as unstack
from jacana.ops.trigonometric import (
    acos as acos,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    cos as cos,
    sin as sin,
    tan as tan,
)
from jacana.ops.windows import (
    reduce_window_max as reduce_window_max,
    reduce_window_min as reduce_window_min,
    reduce_window_sum as reduce_window_sum,
    select_and_gather_add as select_and_gather_add,
    select_and_scatter_add as select_and_scatter_add,
)

if TYPE_CHECKING:
    from jacana.ops.linalg.cholesky import cholesky as cholesky
    from jacana.ops.linalg.determinant import cofactors as cofactors, det as det
    from jacana.ops.linalg.eig import eig as eig, schur as schur
    from jacana.ops.linalg.eigh import eigh as eigh
    from jacana.ops.linalg.lu import (
        lu as lu,
        lu_factors as lu_factors,
        lu_pivots_to_permutation as lu_pivots_to_permutation,
        lu_solve as lu_solve,
    )
    from jacana.ops.linalg.pseudo_inverse import pinv as pinv
    from jacana.ops.linalg.qr import (
        hessenberg as hessenberg,
        householder_product as householder_product,
        qr as qr,
        tridiagonal as tridiagonal,
    )
    from jacana.ops.linalg.svd import svd as svd
    from jacana.ops.linalg.triangular import (
        triangular_solve as triangular_solve,
        tridiagonal_solve as tridiagonal_solve,
    )

__getattr__, __dir__ = deferred(
    __name__,
    linalg=(
        "cholesky",
        "cofactors",
        "det",
        "eig",
        "eigh",
        "hessenberg",
        "householder_product",
        "lu",
        "lu_factors",
        "lu_pivots_to_permutation",
        "lu_solve",
        "pinv",
        "qr",
        "schur",
        "svd",
        "triangular_solve",
        "tridiagonal",
        "tridiagonal_solve",
    ),
)
