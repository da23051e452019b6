"""Programs that iterate: loops, dynamics, sampling, cellular automata; checked against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax, random, vmap


def program_newton_square_root():
    @jit
    def root(a):
        def unfinished(state):
            x, i = state
            return (jnp.abs(x * x - a) > 1e-6 * a) & (i < 50)

        def step(state):
            x, i = state
            return 0.5 * (x + a / x), i + 1

        return lax.while_loop(unfinished, step, (a, 0))

    x, count = root(2.0)
    np.testing.assert_allclose(x, np.sqrt(2), rtol=1e-6)
    assert 3 <= count <= 8
    many, counts = vmap(root)(jnp.array([1.0, 4.0, 1e4, 1e-4]))
    np.testing.assert_allclose(many, [1, 2, 100, 0.01], rtol=1e-6)
    assert counts[0] == 0
    assert counts.dtype == jnp.int32


def program_pendulum():
    """Runge-Kutta in a scan; energy is kept, and the derivative of the end is right."""

    def field(s):
        return jnp.stack([s[1], -jnp.sin(s[0])])

    def step(s, _):
        dt = 0.01
        k1 = field(s)
        k2 = field(s + dt / 2 * k1)
        k3 = field(s + dt / 2 * k2)
        k4 = field(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    @jit
    def solve(angle):
        return lax.scan(step, jnp.stack([angle, 0.0]), None, length=500)

    _, path = solve(1.0)
    energy = path[:, 1] ** 2 / 2 - jnp.cos(path[:, 0])
    assert np.ptp(energy) < 1e-5
    assert path.shape == (500, 2)
    small, _ = solve(1e-3)
    np.testing.assert_allclose(small[0], 1e-3 * np.cos(5.0), rtol=1e-3)
    slope = grad(lambda a: solve(a)[0][0])(1.0)
    forward = jax.jvp(lambda a: solve(a)[0][0], (1.0,), (1.0,))[1]
    difference = (solve(1.01)[0][0] - solve(0.99)[0][0]) / 0.02
    np.testing.assert_allclose(slope, forward, rtol=1e-4)
    np.testing.assert_allclose(slope, difference, rtol=1e-2)


def program_hamiltonian_monte_carlo():
    def log_density(x):
        return -0.5 * jnp.sum((x - 1.0) ** 2 / jnp.array([1.0, 4.0]))

    def leapfrog(x, p, steps=10, size=0.3):
        def step(_, state):
            x, p = state
            p = p + size / 2 * grad(log_density)(x)
            x = x + size * p
            return x, p + size / 2 * grad(log_density)(x)

        return lax.fori_loop(0, steps, step, (x, p))

    def sample(x, key):
        key_p, key_u = random.split(key)
        p = random.normal(key_p, x.shape)
        proposal, moved = leapfrog(x, p)
        before = log_density(x) - 0.5 * jnp.sum(p**2)
        after = log_density(proposal) - 0.5 * jnp.sum(moved**2)
        accept = jnp.log(random.uniform(key_u)) < after - before
        x = jnp.where(accept, proposal, x)
        return x, (x, accept)

    keys = random.split(random.key(0), 2000)
    _, (xs, accepted) = jit(lambda x, keys: lax.scan(sample, x, keys))(jnp.zeros(2), keys)
    assert accepted.mean() > 0.9
    np.testing.assert_allclose(xs.mean(0), [1.0, 1.0], atol=0.2)
    np.testing.assert_allclose(xs.var(0), [1.0, 4.0], rtol=0.25)


def program_game_of_life():
    board = np.zeros((16, 16), np.int8)
    for i, j in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)]:
        board[i, j] = 1

    @jit
    def step(board, _=None):
        shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
        neighbours = sum(jnp.roll(board, s, axis=(0, 1)) for s in shifts)
        alive = (neighbours == 3) | ((board == 1) & (neighbours == 2))
        return alive.astype(jnp.int8), jnp.sum(alive)

    end, counts = lax.scan(step, jnp.asarray(board), None, length=40)
    # A glider moves by one along both axes in four steps.
    np.testing.assert_array_equal(end, np.roll(board, (10, 10), axis=(0, 1)))
    np.testing.assert_array_equal(counts, 5)


def program_mandelbrot():
    @jit
    def escapes(c):
        def step(_, state):
            z, n = state
            inside = jnp.abs(z) <= 2
            return jnp.where(inside, z * z + c, z), n + inside

        return lax.fori_loop(0, 30, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]

    re, im = jnp.meshgrid(jnp.linspace(-2, 0.5, 24), jnp.linspace(-1, 1, 16))
    c = re + 1j * im
    z, n = np.zeros(c.shape, np.complex64), np.zeros(c.shape, int)
    for _ in range(30):
        inside = np.abs(z) <= 2
        n += inside
        z = np.where(inside, z * z + np.asarray(c), z)
    assert np.mean(np.asarray(escapes(c)) == n) > 0.99
    assert c.dtype == jnp.complex64


def program_k_means():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [5, 5], [0, 5]], np.float32)
    labels = rng.integers(0, 3, 150)
    points = jnp.asarray(centres[labels] + rng.normal(size=(150, 2)).astype(np.float32) * 0.3)

    @jit
    def fit(points, start):
        def step(means, _):
            distances = jnp.sum((points[:, None] - means[None]) ** 2, axis=-1)
            nearest = jnp.argmin(distances, axis=1)
            sums = jax.ops.segment_sum(points, nearest, num_segments=3)
            counts = jnp.bincount(nearest, length=3)
            return sums / jnp.maximum(counts, 1)[:, None], nearest

        means, nearest = lax.scan(step, start, None, length=10)
        return means, nearest[-1]

    first = np.array([np.argmax(labels == k) for k in range(3)])
    means, found = fit(points, points[first])
    np.testing.assert_array_equal(found, labels)
    wanted = [np.asarray(points)[labels == k].mean(0) for k in range(3)]
    np.testing.assert_allclose(means, wanted, rtol=1e-5, atol=1e-5)


def program_random_walks():
    """Keys handed through a scan and a vmap; the same bits jitted and not."""

    def walk(key):
        def step(position, key):
            position = position + random.choice(key, jnp.array([-1, 1]))
            return position, position

        return lax.scan(step, 0, random.split(key, 50))[1]

    keys = random.split(random.key(42), 200)
    paths = jit(vmap(walk))(keys)
    assert paths.shape == (200, 50)
    np.testing.assert_array_equal(paths[3], walk(keys[3]))
    assert np.all(np.abs(np.diff(paths, axis=1)) == 1)
    assert abs(np.var(paths[:, -1]) - 50) < 20
    assert not np.array_equal(random.fold_in(keys[0], 1), keys[0]) if keys.ndim > 1 else True


def program_heat_equation():
    """Explicit finite differences with slices and .at[]; against the matrix of the scheme."""
    n, r = 32, 0.25
    u = np.sin(np.pi * np.linspace(0, 1, n)).astype(np.float32)

    @jit
    def step(u):
        return u.at[1:-1].add(r * (u[2:] - 2 * u[1:-1] + u[:-2]))

    matrix = np.eye(n)
    for i in range(1, n - 1):
        matrix[i, i - 1 : i + 2] += [r, -2 * r, r]
    got = lax.fori_loop(0, 100, lambda _, u: step(u), jnp.asarray(u))
    np.testing.assert_allclose(got, np.linalg.matrix_power(matrix, 100) @ u, rtol=1e-4, atol=1e-5)


def program_bootstrap():
    rng = np.random.default_rng(1)
    data = jnp.asarray(rng.normal(size=400).astype(np.float32))

    @jit
    def means(key):
        picks = random.randint(key, (300, 400), 0, 400)
        return jnp.mean(data[picks], axis=1)

    spread = means(random.key(7)).std()
    np.testing.assert_allclose(spread, np.std(np.asarray(data)) / 20, rtol=0.2)


if __name__ == "__main__":
    for name, program in list(globals().items()):
        if name.startswith("program_"):
            program()
            print("ok", name)
