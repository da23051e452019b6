"""Random variates that are drawn until one is accepted: gamma, Poisson, binomial.

Each algorithm is written once, on the words of one key, for two kinds of arithmetic: expressions
of the kernel language (`InKernel`) and NumPy arrays (`InNumPy`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jacana.kernel import math
from jacana.kernel.build import function
from jacana.kernel.special import erf_inv, lgamma
from jacana.ops.random_bits import threefry
from jacana.ops.special import scipy_special

Key = tuple[Any, Any]
State = tuple[Any, ...]

# A draw is accepted with probability 0.7 or more, unless parameters are not finite.
LIMIT = 4096


def type_of(x: Any) -> str:
    """The kernel type of an expression or array."""
    return str(x.dtype) if isinstance(x, np.ndarray | np.generic) else str(x.type)


class Place(NamedTuple):
    """Where an element counts in the array that is drawn for a key: the words that are hashed.

    Where counting is not partitionable, `is_first` chooses between the two words of the hash.
    """

    upper: Any
    lower: Any
    is_first: Any


class Arithmetic:
    """What the algorithms use beyond operators, and the two ways of counting."""

    # Functions of one float; select(condition, a, b).
    log: Any
    log1p: Any
    sqrt: Any
    floor: Any
    ceil: Any
    lgamma: Any
    erf_inv: Any
    power: Any
    select: Any
    maximum: Any

    def __init__(self, partitionable: bool):
        self.partitionable = partitionable

    def const(self, like: Any, value: float) -> Any:
        """A constant of the type of `like`."""
        raise NotImplementedError

    def unit(self, high: Any, low: Any | None, type: str) -> Any:
        """A number in [0, 1) made of the high bits of one word, or two for float64."""
        raise NotImplementedError

    def iterate(
        self, going: Callable[..., Any], step: Callable[..., State], init: State, consts: State
    ) -> State:
        """The state after `while going(*state, *consts): state = step(*state, *consts)`."""
        raise NotImplementedError

    def children(self, key: Key, count: int) -> list[Key]:
        """The keys that `random_split` makes of one."""

        def hashed(upper: int, lower: int) -> tuple[Any, Any]:
            return threefry(key, (self.const(key[0], upper), self.const(key[0], lower)))

        if self.partitionable:
            return [hashed(0, i) for i in range(count)]
        pairs = [hashed(i, i + count) for i in range(count)]
        words = [p[0] for p in pairs] + [p[1] for p in pairs]
        return list(zip(words[::2], words[1::2], strict=True))

    def only_place(self, key: Key, type: str) -> Place:
        """The place of the one element of an array of shape ()."""
        zero = self.const(key[0], 0)
        # A float64 takes two words, which one hash gives.
        is_pair = type == "float64" and not self.partitionable
        return Place(zero, self.const(key[0], int(is_pair)), self.const(zero < 1, True))

    def uniform(self, key: Key, place: Place, type: str) -> Any:
        """A number in [0, 1)."""
        x, y = threefry(key, (place.upper, place.lower))
        if type == "float64":
            return self.unit(x, y, type)
        word = x ^ y if self.partitionable else self.select(place.is_first, x, y)
        return self.unit(word, None, type)

    def normal(self, key: Key, place: Place, type: str) -> Any:
        """A standard normal number."""
        kind = np.dtype(type).type
        low = np.nextafter(kind(-1), kind(0))
        drawn = self.uniform(key, place, type) * float(kind(1) - low) + float(low)
        return float(np.sqrt(kind(2))) * self.erf_inv(self.maximum(drawn, float(low)))


class InKernel(Arithmetic):
    """Arithmetic on expressions."""

    log, log1p, power = math.log, math.log1p, math.pow
    lgamma, erf_inv = lgamma, erf_inv

    def sqrt(self, x: Any) -> Any:
        return x.graph.op("sqrt", x)

    def floor(self, x: Any) -> Any:
        return x.graph.op("floor", x)

    def ceil(self, x: Any) -> Any:
        return x.graph.op("ceil", x)

    def maximum(self, x: Any, y: float) -> Any:
        return x.graph.op("max", y, x)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return condition.graph.select(condition, a, b)

    def const(self, like: Any, value: float) -> Any:
        return like.const(value)

    def unit(self, high: Any, low: Any | None, type: str) -> Any:
        if low is None:
            return (high >> 9 | 0x3F800000).bitcast("float32") - 1
        both = high.convert("uint64") << 32 | low.convert("uint64")
        return (both >> 12 | 0x3FF0000000000000).bitcast("float64") - 1

    def iterate(
        self, going: Callable[..., Any], step: Callable[..., State], init: State, consts: State
    ) -> State:
        types = [e.type for e in (*init, *consts)]
        name = step.__qualname__.replace(".<locals>.", "_")
        body = function(name, *types)(step)
        cond = function(f"{name}_going", *types)(going)
        state: State = init[0].graph.iterate(cond, body, init, consts)
        return state


class InNumPy(Arithmetic):
    """Arithmetic on arrays."""

    log, log1p, sqrt = staticmethod(np.log), staticmethod(np.log1p), staticmethod(np.sqrt)
    floor, ceil, power = staticmethod(np.floor), staticmethod(np.ceil), staticmethod(np.power)
    select, maximum = staticmethod(np.where), staticmethod(np.maximum)

    def lgamma(self, x: Any) -> Any:
        return scipy_special().gammaln(x)

    def erf_inv(self, x: Any) -> Any:
        return scipy_special().erfinv(x)

    def const(self, like: Any, value: float) -> Any:
        return np.full_like(like, value)

    def unit(self, high: Any, low: Any | None, type: str) -> Any:
        if low is None:
            return (high >> np.uint32(9) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)
        both = high.astype(np.uint64) << np.uint64(32) | low
        return (both >> np.uint64(12) | np.uint64(0x3FF0000000000000)).view(np.float64) - 1

    def iterate(
        self, going: Callable[..., Any], step: Callable[..., State], init: State, consts: State
    ) -> State:
        state = init
        with np.errstate(all="ignore"):
            while np.any(active := going(*state, *consts)):
                after = step(*state, *consts)
                state = tuple([np.where(active, n, s) for n, s in zip(after, state, strict=True)])
        return state


# --- gamma ----------------------------------------------------------------------------------------


def gamma(m: Arithmetic, key: Key, a: Any, type: str, log_space: bool) -> Any:
    """A gamma variate of shape a, or its logarithm: Marsaglia and Tsang's method (2000).

    For a below 1 it is a variate for a + 1 times a power of a uniform number.
    """
    place = m.only_place(key, type)
    is_large = a >= 1
    d = m.select(is_large, a, a + 1) - 1 / 3
    key, boost_key = m.children(key, 2)

    def going(k: Any, l: Any, square: Any, cube: Any, u: Any, d: Any, c: Any) -> Any:
        bound = square * 0.5 + d * ((1 - cube) + m.log(cube))
        return (u >= 1 - 0.0331 * (square * square)) & (m.log(u) >= bound)

    def step(k: Any, l: Any, square: Any, cube: Any, u: Any, d: Any, c: Any) -> State:
        after, x_key, u_key = m.children((k, l), 3)
        x, v = positive_cube_root(m, x_key, c, type)
        drawn = m.uniform(u_key, m.only_place(u_key, type), type)
        return *after, x * x, v * v * v, drawn

    zero, one = m.const(d, 0), m.const(d, 1)
    start = (*key, zero, one, m.const(d, 2))
    cube = m.iterate(going, step, start, (d, (1 / 3) / m.sqrt(d)))[3]
    drawn = m.uniform(boost_key, place, type)
    if log_space:
        logarithm = m.log1p(-drawn)
        needs_none = is_large | (logarithm >= 0)
        return m.log(d) + m.log(cube) + m.select(needs_none, zero, logarithm * (1 / a))
    return d * cube * m.select(is_large, one, m.power(1 - drawn, 1 / a))


def positive_cube_root(m: Arithmetic, key: Key, c: Any, type: str) -> tuple[Any, Any]:
    """A normal number x for which v = 1 + c x is positive, and v."""

    def going(k: Any, l: Any, x: Any, v: Any, c: Any) -> Any:
        return v <= 0

    def step(k: Any, l: Any, x: Any, v: Any, c: Any) -> State:
        after, used = m.children((k, l), 2)
        x = m.normal(used, m.only_place(used, type), type)
        return *after, x, x * c + 1

    _, _, x, v = m.iterate(going, step, (*key, m.const(c, 0), m.const(c, -1)), (c,))
    return x, v


# --- Poisson --------------------------------------------------------------------------------------


def poisson_by_products(m: Arithmetic, key: Key, place: Place, lam: Any) -> Any:
    """How many uniform numbers' product stays above exp(-lam), as a float: Knuth's method."""
    type = type_of(lam)

    def going(k: Any, l: Any, count: Any, total: Any, lam: Any, *at: Any) -> Any:
        return total > -lam

    def step(k: Any, l: Any, count: Any, total: Any, lam: Any, *at: Any) -> State:
        after, used = m.children((k, l), 2)
        return *after, count + 1, total + m.log(m.uniform(used, Place(*at), type))

    init = (*key, m.const(lam, 0), m.const(lam, 0))
    return m.iterate(going, step, init, (lam, *place))[2] - 1


def poisson_constants(m: Arithmetic, lam: Any) -> State:
    """Constants of Hörmann's transformed rejection PTRS (1993), for lam of 10 or more."""
    b = 0.931 + 2.53 * m.sqrt(lam)
    a = -0.059 + 0.02483 * b
    return a, b, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2), m.log(lam), lam


def poisson_candidate(m: Arithmetic, u: Any, v: Any, *constants: Any) -> tuple[Any, Any]:
    """A candidate made of two uniform numbers, and whether it is accepted."""
    a, b, inverse_alpha, v_r, log_lam, lam = constants
    u = u - 0.5
    rest = 0.5 - abs(u)
    k = m.floor((2 * a / rest + b) * u + lam + 0.43)
    bound = -lam + k * log_lam - m.lgamma(k + 1)
    is_below = m.log(v * inverse_alpha / (a / (rest * rest) + b)) <= bound
    is_outside = (k < 0) | ((rest < 0.013) & (v > rest))
    return k, ((rest >= 0.07) & (v <= v_r)) | (~is_outside & is_below)


# --- binomial -------------------------------------------------------------------------------------


def binomial_by_gaps(m: Arithmetic, key: Key, place: Place, n: Any, p: Any) -> Any:
    """How many geometric gaps between successes fit into n trials, for n p up to 10."""
    type = type_of(n)

    def going(k: Any, l: Any, count: Any, total: Any, n: Any, scale: Any, *at: Any) -> Any:
        return total <= n

    def step(k: Any, l: Any, count: Any, total: Any, n: Any, scale: Any, *at: Any) -> State:
        used, after = m.children((k, l), 2)
        gap = m.ceil(m.log(m.uniform(used, Place(*at), type)) / scale)
        return *after, count + 1, total + gap

    init = (*key, m.const(n, 0), m.const(n, 0))
    consts = (n, m.log1p(-p), *place)
    return m.iterate(going, step, init, consts)[2] - 1


def binomial_constants(m: Arithmetic, n: Any, p: Any) -> State:
    """Constants of Hörmann's transformed rejection BTRS (1993), for n p of 10 or more."""
    deviation = m.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    return a, b, n * p + 0.5, 0.92 - 4.2 / b, p / (1 - p), alpha, m.floor((n + 1) * p), n


def binomial_candidate(m: Arithmetic, u: Any, v: Any, *constants: Any) -> tuple[Any, Any]:
    """A candidate made of two uniform numbers, and whether it is accepted."""
    a, b, c, v_r, odds, alpha, mode, n = constants
    u = u - 0.5
    rest = 0.5 - abs(u)
    k = m.floor((2 * a / rest + b) * u + c)
    bound = (
        (mode + 0.5) * m.log((mode + 1) / (odds * (n - mode + 1)))
        + (n + 1) * m.log((n - mode + 1) / (n - k + 1))
        + (k + 0.5) * m.log(odds * (n - k + 1) / (k + 1))
        + stirling_rest(m, mode) + stirling_rest(m, n - mode)
        - stirling_rest(m, k) - stirling_rest(m, n - k)
    )  # fmt: skip
    is_below = m.log(v * alpha / (a / (rest * rest) + b)) <= bound
    is_outside = (k < 0) | (k > n)
    return k, ((rest >= 0.07) & (v <= v_r)) | (~is_outside & is_below)


# log(k!) less Stirling's approximation of it, for k = 0 .. 9.
STIRLING_REST = (
    0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093,
    0.016644691189821193, 0.013876128823070748, 0.01189670994589177,
    0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
)  # fmt: skip


def stirling_rest(m: Arithmetic, k: Any) -> Any:
    """STIRLING_REST of k, and its last value for larger k, as JAX's binomial numbers have it."""
    rest = m.const(k, STIRLING_REST[-1])
    for i in range(8, -1, -1):
        rest = m.select(k < i + 1, m.const(k, STIRLING_REST[i]), rest)
    return rest


# --- rounds ---------------------------------------------------------------------------------------

Candidate = Callable[..., tuple[Any, Any]]


def first_accepted(
    m: Arithmetic, key: Key, place: Place, candidate: Candidate, constants: State
) -> Any:
    """In which round (from 1) a candidate is accepted first, as a float."""

    def going(k: Any, l: Any, n: Any, waiting: Any, *rest: Any) -> Any:
        return (waiting > 0) & (n < LIMIT)

    def step(k: Any, l: Any, n: Any, waiting: Any, *rest: Any) -> State:
        after, _, accepted = one_round(m, (k, l), candidate, rest)
        return *after, n + 1, m.select(accepted, m.const(n, 0), m.const(n, 1))

    init = (*key, m.const(constants[0], 0), m.const(constants[0], 1))
    return m.iterate(going, step, init, (*place, *constants))[2]


def last_accepted(
    m: Arithmetic, key: Key, place: Place, candidate: Candidate, constants: State, rounds: Any
) -> Any:
    """The candidate that was accepted last within so many rounds."""

    def going(k: Any, l: Any, n: Any, found: Any, rounds: Any, *rest: Any) -> Any:
        return n < rounds

    def step(k: Any, l: Any, n: Any, found: Any, rounds: Any, *rest: Any) -> State:
        after, made, accepted = one_round(m, (k, l), candidate, rest)
        return *after, n + 1, m.select(accepted, made, found)

    init = (*key, m.const(constants[0], 0), m.const(constants[0], -1))
    return m.iterate(going, step, init, (rounds, *place, *constants))[3]


def one_round(
    m: Arithmetic, key: Key, candidate: Candidate, rest: Sequence[Any]
) -> tuple[Key, Any, Any]:
    """The key of the next round, and this round's candidate and whether it is accepted."""
    at, constants = rest[:3], rest[3:]
    type = type_of(constants[0])
    after, *used = m.children(key, 3)
    u, v = (m.uniform(k, Place(*at), type) for k in used)
    made, accepted = candidate(m, u, v, *constants)
    return after, made, accepted


__all__ = [
    "Arithmetic", "InKernel", "InNumPy", "Place", "binomial_by_gaps", "binomial_candidate",
    "binomial_constants", "first_accepted", "gamma", "last_accepted", "poisson_by_products",
    "poisson_candidate", "poisson_constants",
]  # fmt: skip
