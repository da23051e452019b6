"""References against NumPy arrays that change, under every transformation."""

import itertools

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax, new_ref
from jacana.ref import Ref, addupdate, get, set as set_ref, swap

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = np.array([2, 0], np.int32)
INDICES = [
    ..., (), 1, -1, slice(1, None), slice(None, None, 2), (1, 2), (slice(0, 2), -1),
    (slice(None), slice(1, 4, 2)), ROWS, (ROWS, slice(1, 3)), (slice(None), ROWS),
    (ROWS, np.array([[1], [3]])), (slice(0, 3, 2), ROWS), slice(2, 2), (0, slice(3, 3)),
    X[:, 0] > 3, (np.array([[0, 1]]), slice(None, None, 3)),
]  # fmt: skip


def value_for(index):
    shape = X[index].shape
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def expected(index, kind):
    out, value = X.copy(), value_for(index)
    if kind == "set":
        out[index] = value
    else:
        np.add.at(out, index, value)
    return out


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reads_and_writes_are_numpys(index):
    value = value_for(index)

    def run(x, value):
        ref = new_ref(x)
        old = swap(ref, index, value)
        now = ref[index]
        more = new_ref(x)
        addupdate(more, index, value)
        return old, now, ref[...], more[...]

    wanted = X[index], value, expected(index, "set"), expected(index, "add")
    eager, compiled = run(X, value), jax.jit(run)(X, value)
    for a, b, c in zip(eager, compiled, wanted, strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(np.asarray(a).view(np.uint32), np.asarray(b).view(np.uint32))


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_derivatives_are_those_of_the_pure_update(index):
    value = value_for(index)

    def with_refs(x, value):
        ref = new_ref(jnp.sin(x))
        ref[index] = value * ref[index]
        addupdate(ref, index, jnp.cos(value))
        return ref[...]

    def pure(x, value):
        x = jnp.sin(x)
        x = x.at[index].set(value * x[index])
        return x.at[index].add(jnp.cos(value))

    for derivative in (jax.jacrev, jax.jacfwd):
        for f, g in ((with_refs, pure), (jax.jit(with_refs), pure)):
            found, wanted = [jax.jit(derivative(h, argnums=(0, 1)))(X, value) for h in (f, g)]
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("index", [1, (ROWS, slice(1, 3))], ids=str)
def test_derivatives_of_un_jitted_code_to_second_order(index):
    value = value_for(index)

    def with_refs(x, value):
        ref = new_ref(jnp.sin(x))
        ref[index] = value * ref[index]
        addupdate(ref, index, jnp.cos(value))
        return ref[...]

    def pure(x, value):
        x = jnp.sin(x)
        x = x.at[index].set(value * x[index])
        return x.at[index].add(jnp.cos(value))

    def second(f):
        return jax.grad(lambda x: (jax.grad(lambda x: (f(x, value) ** 3).sum())(x) ** 2).sum())(X)

    np.testing.assert_allclose(second(with_refs), second(pure), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_vmap_is_the_loop(index):
    batch = np.stack([X, X + 1, X * 2])
    values = np.stack([value_for(index)] * 3) + np.arange(3, dtype=np.float32).reshape(
        3, *[1] * value_for(index).ndim
    )

    def run(x, value):
        ref = new_ref(x)
        old = swap(ref, index, value)
        addupdate(ref, index, value)
        return old, ref[...]

    for f in (jax.vmap(run), jax.jit(jax.vmap(run)), jax.vmap(jax.jit(run))):
        olds, news = f(batch, values)
        for k in range(3):
            old, new = run(batch[k], values[k])
            np.testing.assert_array_equal(olds[k], old)
            np.testing.assert_array_equal(news[k], new)


def test_references_are_copies_and_copies_are_read():
    x = jnp.arange(3.0)
    ref = new_ref(x)
    before = ref[...]
    ref[0] = 9.0
    assert x[0] == before[0] == 0.0
    assert repr(ref) == "Ref([9., 1., 2.], dtype=float32)"
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((3,), np.float32, 1, 3, 3)
    assert isinstance(ref, Ref) and not isinstance(x, Ref) and not isinstance(ref, jax.Array)
    assert str(jax.typeof(ref)) == "Ref{float32[3]}"
    frozen = jax.freeze(ref)
    ref[...] = jnp.zeros(3)
    assert frozen.tolist() == [9.0, 1.0, 2.0]
    assert [float(row) for row in new_ref(x)] == [0.0, 1.0, 2.0]
    assert repr(new_ref(1.0)) == "Ref(1., dtype=float32, weak_type=True)"
    assert jax.empty_ref(jax.ShapeDtypeStruct((2,), jnp.int8)).dtype == np.int8


def test_jit_writes_to_the_memory_of_its_argument():
    ref = new_ref(jnp.array([1.0, 2.0, 3.0]))
    address = ref.unsafe_buffer_pointer()

    @jax.jit
    def sin_inplace(ref):
        ref[...] = jnp.sin(ref[...])
        return ref[0]

    for _ in range(2):
        was = np.asarray(ref[...])
        first = sin_inplace(ref)
        np.testing.assert_array_equal(ref[...], jnp.sin(was))
        assert first == ref[0]
    assert ref.unsafe_buffer_pointer() == address


def test_results_are_not_the_memory_of_references():
    ref, other = new_ref(jnp.arange(3.0)), new_ref(jnp.ones(3))

    @jax.jit
    def exchange(a, b, x):
        old = a[...]
        a[...], b[...] = b[...], old
        return old, a[...], x

    old, new, x = exchange(ref, other, jnp.zeros(3))
    ref[...] = x
    assert old.tolist() == [0.0, 1.0, 2.0] and new.tolist() == [1.0, 1.0, 1.0]
    assert other[...].tolist() == [0.0, 1.0, 2.0] and ref[...].tolist() == [0.0, 0.0, 0.0]
    ref[0] = 5.0
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("jit", [False, True])
def test_control_flow(jit):
    def loops(x, n):
        ref = new_ref(x)
        lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(i, ref[i] + i), None)
        lax.fori_loop(0, n, lambda i, _: addupdate(ref, 0, 1.0), None)
        out = lax.while_loop(
            lambda i: ref[0] < 10.0, lambda i: (addupdate(ref, 0, 1.0 * i), i + 1)[1], n
        )
        lax.cond(out > n, lambda: set_ref(ref, 1, 7.0), lambda: set_ref(ref, 2, 7.0))
        lax.cond(out < n, lambda r: set_ref(r, 1, 8.0), lambda r: set_ref(r, 2, 8.0), ref)
        lax.switch(1, [lambda: None, lambda: set_ref(ref, 3, ref[1] * 2)])
        return out, ref[...]

    f = jax.jit(loops) if jit else loops
    out, x = f(jnp.zeros(4), jnp.int32(2))
    assert out == 5 and x.tolist() == [11.0, 7.0, 8.0, 14.0]


def test_scan_over_the_rows_of_a_reference():
    ref, total = new_ref(X), new_ref(0.0)

    def body(carry, row):
        row[0] = carry
        addupdate(total, ..., row[1])
        return carry + 1.0, row[2]

    for transformed in (
        lambda: lax.scan(body, 5.0, ref),
        jax.jit(lambda: lax.scan(body, 5.0, ref)),
    ):
        carry, ys = transformed()
        assert carry == 8.0 and ys.tolist() == [2.0, 6.0, 10.0]
        assert ref[:, 0].tolist() == [5.0, 6.0, 7.0]
    assert total[...] == 30.0
    with jax.disable_jit():
        lax.scan(body, 1.0, ref)
    assert ref[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_loops_with_references_are_differentiated():
    def power(x, n):
        ref = new_ref(jnp.ones_like(x))
        history = new_ref(jnp.zeros((n, *x.shape)))

        def body(i, _):
            ref[...] = ref[...] * x
            history[i] = jnp.sin(ref[...])

        lax.fori_loop(0, n, body, None)
        return ref[...].sum() + history[...].sum()

    def pure(x, n):
        return (x**n).sum() + sum(jnp.sin(x**k).sum() for k in range(1, n + 1))

    x = jnp.array([0.5, 1.5])
    for f in (power, jax.jit(power, static_argnums=1)):
        np.testing.assert_allclose(jax.grad(f)(x, 4), jax.grad(pure)(x, 4), rtol=1e-5)
        np.testing.assert_allclose(
            jax.hessian(f)(x, 4), jax.hessian(pure)(x, 4), rtol=1e-5, atol=1e-5
        )


def test_references_go_into_jit_under_transformations():
    @jax.jit
    def cube(ref):
        ref[...] = ref[...] ** 3

    def f(x):
        ref = new_ref(x)
        cube(ref)
        lax.cond(x.sum() > 0, lambda: set_ref(ref, 0, ref[1]), lambda: None)
        return ref[...]

    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(jax.jacrev(f)(x), [[0.0, 12.0], [0.0, 12.0]])
    np.testing.assert_allclose(jax.jit(jax.jacfwd(f))(x), [[0.0, 12.0], [0.0, 12.0]])
    np.testing.assert_array_equal(jax.vmap(f)(jnp.stack([x, -x])), [[8.0, 8.0], [-1.0, -8.0]])
    np.testing.assert_allclose(jax.vmap(jax.grad(lambda x: f(x).sum()))(jnp.ones((1, 2))), [[0, 6]])


def test_vmap_of_reference_arguments():
    ref = new_ref(X)
    out = jax.vmap(lambda r, i: (set_ref(r, 0, 9.0), r[i])[1])(ref, jnp.array([0, 1, 2]))
    assert out.tolist() == [9.0, 5.0, 10.0] and ref[:, 0].tolist() == [9.0, 9.0, 9.0]
    jax.vmap(lambda r: set_ref(r, 1, 5.0), in_axes=1)(ref)
    assert ref[1].tolist() == [5.0, 5.0, 5.0, 5.0]
    rows = jax.vmap(lambda i: ref[i], in_axes=0)(jnp.array([2, 0]))
    np.testing.assert_array_equal(rows, ref[...][np.array([2, 0])])


def test_gradients_are_plumbed_out():
    @jax.custom_vjp
    def stash(ref, x):
        return x

    def backward(ref, ct):
        ref[...] = ct
        return None, ct

    stash.defvjp(lambda ref, x: (x, ref), backward)

    def f(x, ref):
        return (stash(ref, jnp.sin(x)) ** 2).sum()

    x = jnp.arange(3.0)
    for gradient in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f))):
        ref = new_ref(jnp.zeros(3))
        np.testing.assert_allclose(gradient(x, ref), 2 * jnp.sin(x) * jnp.cos(x), rtol=1e-6)
        np.testing.assert_allclose(ref[...], 2 * jnp.sin(x), rtol=1e-6)


def test_values_are_plumbed_out_of_differentiated_code():
    ref = new_ref(jnp.zeros(3))

    def f(x, ref):
        ref[...] = lax.stop_gradient(jnp.sin(x))
        return (x * ref[...]).sum()

    for gradient in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f))):
        np.testing.assert_array_equal(gradient(jnp.ones(3), ref), jnp.sin(jnp.ones(3)))
    with pytest.raises(ValueError, match="differentiated value on a non-differentiated array ref"):
        jax.grad(lambda x: (set_ref(ref, ..., x), x.sum())[1])(jnp.ones(3))


def test_checkpoint_computes_again_but_does_not_write_again():
    count = new_ref(0)

    @jax.checkpoint
    def f(x):
        addupdate(count, ..., 1)
        inside = new_ref(x)
        inside[...] = jnp.sin(inside[...])
        return jnp.sin(inside[...])

    np.testing.assert_allclose(jax.grad(f)(1.0), np.cos(np.sin(1.0)) * np.cos(1.0), rtol=1e-6)
    assert count[...] == 1


def test_views():
    ref = new_ref(X)
    row = ref.at[1]
    row[2:] = jnp.array([7.0, 8.0])
    assert ref[1].tolist() == [4.0, 5.0, 7.0, 8.0] and row[3] == 8.0
    ref.at[1:].at[:, 0][...] = jnp.zeros(2)
    assert ref[:, 0].tolist() == [0.0, 0.0, 0.0]
    with_view = jax.make_jaxpr(lambda r: get(r.at[0], ...))(ref)
    assert "b:f32[4] <- a[0,:]" in str(with_view)


def test_places_out_of_bounds():
    ref = new_ref(jnp.arange(3.0))
    write = jax.jit(lambda i, v: set_ref(ref, i, v))
    write(7, 9.0)
    assert ref[...].tolist() == [0.0, 1.0, 9.0]
    write(-3, 8.0)
    assert ref[...].tolist() == [8.0, 1.0, 9.0]
    write(jnp.array([1, 5]), jnp.zeros(2))
    assert ref[...].tolist() == [8.0, 0.0, 9.0]
    with pytest.raises(ValueError, match="Out of bound indexer: idx=5, dim=3"):
        ref[5]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "float16", "complex64"])
def test_dtypes(dtype):
    x = np.array([0, 1, 1, 0]).astype(jnp.dtype(dtype))
    ref = new_ref(x)
    jax.jit(lambda r: set_ref(r, slice(1), r[1:2]))(ref)
    np.testing.assert_array_equal(ref[...], x[[1, 1, 2, 3]])
    empty = new_ref(np.zeros((0, 3), x.dtype))
    empty[...] = empty[...]
    assert empty[:, 1].shape == (0,)


def test_keys_are_referred_to():
    ref = new_ref(jax.random.key(0))

    @jax.jit
    def draw():
        key, sub = jax.random.split(ref[...])
        ref[...] = key
        return jax.random.uniform(sub)

    assert draw() != draw()


# --- how programs are printed, and errors ---


def test_programs_are_printed_as_jax_prints_them():
    def f(ref, i, x):
        ref[i] = 1.0
        ref[1:] = jnp.sin(ref[1:])
        addupdate(ref, 0, x)
        old = swap(ref, ..., ref[...])
        return old, jax.freeze(new_ref(x))

    assert str(jax.make_jaxpr(f)(new_ref(jnp.zeros(3)), 1, np.float32(1))) == (
        "{ lambda ; a:Ref{f32[3]} b:i32[] c:f32[]. let\n"
        "    a[b] <- 1.0:f32[]\n"
        "    d:f32[2] <- a[1:]\n"
        "    e:f32[2] = sin d\n"
        "    a[1:] <- e\n"
        "    a[0] += c\n"
        "    f:f32[3] <- a[...]\n"
        "    g:f32[3], a[...] <- a[...], f\n"
        "    h:Ref{f32[]} = new_ref[kind=None memory_space=None] c\n"
        "    i:f32[] = freeze h\n"
        "  in (g, i) }"
    )


def test_errors():
    ref = new_ref(jnp.arange(3.0))
    captured = jax.jit(lambda a: set_ref(a, ..., ref[...]))
    cases = [
        (lambda: jax.jit(lambda r: r)(ref), "traced for jit returned a mutable array reference"),
        (lambda: jax.make_jaxpr(new_ref)(1.0), "mutable array references cannot be returned"),
        (lambda: lax.scan(lambda c, x: (c, ref), 0, length=2), r"path result\[1\], but mutable"),
        (lambda: lax.cond(True, lambda: ref, lambda: ref), "traced for cond returned"),
        (lambda: jax.vmap(lambda r: r)(ref), "traced for vmap returned"),
        (lambda: lax.scan(lambda c, x: (c, x), ref, length=2), "a carry is returned"),
        (lambda: jax.jit(lambda a, b: 0)(ref, ref), "appeared at both a and b"),
        (lambda: jax.vmap(lambda a, b: 0)(ref, ref), "appeared at both a and b"),
        (lambda: captured(ref), "both closed over and passed as the argument a"),
        (lambda: jax.vmap(lambda i: set_ref(ref, i, 0.0))(jnp.arange(2)), "unbatched array ref"),
        (lambda: set_ref(ref, ..., jnp.ones(2)), "Invalid shape for `swap`"),
        (lambda: set_ref(ref, 0, 1), "Invalid dtype for `swap`. Ref dtype: float32. Value"),
        (lambda: ref[::-1], "must have a step >= 1"),
    ]
    for f, message in cases:
        with pytest.raises(ValueError, match=message):
            f()
    wrong = [
        (lambda: new_ref([1.0]), "Error interpreting argument to new_ref"),
        (lambda: jnp.sin(ref), "read it first"),
        (
            lambda: jax.jit(jnp.sin)(ref),
            "scalar arguments, got a reference",
        ),
        (lambda: jax.grad(lambda r: r[0])(ref), "needs arrays where it is given a reference"),
        (lambda: get(jnp.ones(2), 0), "get needs a reference, got Array. Make one"),
    ]
    for f, message in wrong:
        with pytest.raises(TypeError, match=message):
            f()
    with pytest.raises(NotImplementedError, match="condition of a while_loop writes"):
        lax.while_loop(lambda i: (set_ref(ref, 0, 1.0), i < 2)[1], lambda i: i + 1, 0)
    leaked = []
    jax.jit(lambda x: leaked.append(new_ref(x)))(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        leaked[0][...]


def test_random_programs_are_those_on_numpy_arrays():
    rng = np.random.default_rng(1)
    for _ in range(10):
        steps = [
            (rng.choice(["set", "add", "scale", "copy"]), *rng.integers(0, 3, 3)) for _ in range(8)
        ]

        def run(arrays, make, steps=steps):
            cells = [make(a) for a in arrays]
            seen = []
            for kind, i, j, k in steps:
                if kind == "set":
                    cells[i][k] = cells[j][(k + 1) % 3] + 1
                elif kind == "add":
                    cells[i][k] += cells[j][k]
                elif kind == "scale":
                    cells[i][...] = cells[i][...] * 2
                else:
                    cells[i][...] = cells[j][...]
                seen.append(cells[j][k] + 0)
            return seen, [c[...] + 0 for c in cells]

        arrays = [rng.integers(0, 9, 3).astype(np.float32) for _ in range(3)]
        wanted = run(arrays, np.copy)
        eager = run(arrays, new_ref)
        inside = jax.jit(lambda *xs, run=run: run(xs, new_ref))(*arrays)
        outside = jax.jit(lambda *cells, run=run: run(cells, lambda c: c))(*map(new_ref, arrays))
        for found in (eager, inside, outside):
            pairs = itertools.chain(zip(found[0], wanted[0]), zip(found[1], wanted[1]))
            for a, b in pairs:
                np.testing.assert_array_equal(a, b)
