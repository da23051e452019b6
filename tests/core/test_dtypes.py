"""Dtypes and their promotion, against tables that JAX made."""

import itertools
import json
import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest

from jacana.core import dtypes
from jacana.core.dtypes import float0, key_dtype, promote

MODES = ["x32", "x64"]
WEAK = {"int*": int, "float*": float, "complex*": complex}


def pair(name: str, x64: bool):
    """The operand that a table's entry names: a dtype, or a weak scalar such as `int*`."""
    if name in WEAK:
        return dtypes.python_scalar_dtype(WEAK[name], x64), True
    return dtypes.dtype(name), False


def outcome(*names: str, x64: bool, strict: bool = False):
    try:
        dtype, weak = promote(*(pair(n, x64) for n in names), x64=x64, strict=strict)
    except dtypes.TypePromotionError:
        return "error"
    return [dtype.name, weak]


def table(shared_file, mode):
    found = json.loads(shared_file("golden/dtype_promotion.json").read_text())[mode]
    return found, mode == "x64"


# Dtypes in the order of the columns: each row lists what the row's dtype gives with each of them.
# b bool, i1..i8 u1..u8 integers by bytes, h bfloat16, f2..f8, c8 c16, I F C weak Python scalars.
LETTERS = {
    "b": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "h": "bfloat16",
    "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
    "I": "int*", "F": "float*", "C": "complex*",
}  # fmt: skip
TABLE_X64 = """
    b   b  i1 i2 i4 i8 u1 u2 u4 u8 h  f2 f4 f8 c8  c16 I  F  C
    i1  i1 i1 i2 i4 i8 i2 i4 i8 F  h  f2 f4 f8 c8  c16 i1 F  C
    i2  i2 i2 i2 i4 i8 i2 i4 i8 F  h  f2 f4 f8 c8  c16 i2 F  C
    i4  i4 i4 i4 i4 i8 i4 i4 i8 F  h  f2 f4 f8 c8  c16 i4 F  C
    i8  i8 i8 i8 i8 i8 i8 i8 i8 F  h  f2 f4 f8 c8  c16 i8 F  C
    u1  u1 i2 i2 i4 i8 u1 u2 u4 u8 h  f2 f4 f8 c8  c16 u1 F  C
    u2  u2 i4 i4 i4 i8 u2 u2 u4 u8 h  f2 f4 f8 c8  c16 u2 F  C
    u4  u4 i8 i8 i8 i8 u4 u4 u4 u8 h  f2 f4 f8 c8  c16 u4 F  C
    u8  u8 F  F  F  F  u8 u8 u8 u8 h  f2 f4 f8 c8  c16 u8 F  C
    h   h  h  h  h  h  h  h  h  h  h  f4 f4 f8 c8  c16 h  h  c8
    f2  f2 f2 f2 f2 f2 f2 f2 f2 f2 f4 f2 f4 f8 c8  c16 f2 f2 c8
    f4  f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f8 c8  c16 f4 f4 c8
    f8  f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 c16 c16 f8 f8 c16
    c8  c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c16 c8 c16 c8 c8 c8
    c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
    I   I  i1 i2 i4 i8 u1 u2 u4 u8 h  f2 f4 f8 c8  c16 I  F  C
    F   F  F  F  F  F  F  F  F  F  h  f2 f4 f8 c8  c16 F  F  C
    C   C  C  C  C  C  C  C  C  C  c8 c8 c8 c16 c8 c16 C  C  C
"""


@pytest.mark.parametrize("row", TABLE_X64.strip().splitlines(), ids=lambda r: r.split()[0])
def test_promotion_table(row):
    first, *results = row.split()
    for second, result in zip(LETTERS, results, strict=True):
        want = LETTERS[result]
        expected = [pair(want, True)[0].name, want.endswith("*")]
        assert outcome(LETTERS[first], LETTERS[second], x64=True) == expected


@pytest.mark.parametrize("mode", MODES)
def test_all_pairs_promote_as_in_jax(shared_file, mode):
    rows, x64 = table(shared_file, mode)
    for row in rows["pairs"]:
        got = outcome(row["a"], row["b"], x64=x64)
        want = row["add"]
        if want == "error:JaxRuntimeError":  # its compiler lacks the type; the lattice has it
            continue
        assert got == ("error" if "error" in want else want), row
        try:
            common = dtypes.promote_types(
                *(WEAK.get(row[side], row[side]) for side in "ab"), x64=x64
            ).name
        except dtypes.TypePromotionError:
            common = "error:TypePromotionError"
        assert common == row["promote_types"], row


@pytest.mark.parametrize("mode", MODES)
def test_strict_mode_as_in_jax(shared_file, mode):
    rows, x64 = table(shared_file, mode)
    for a, b, *want in rows["strict_add"]:
        if want == ["error:JaxRuntimeError"]:
            continue
        got = outcome(a, b, x64=x64, strict=True)
        assert got == ("error" if "error" in str(want[0]) else want), (a, b)


@pytest.mark.parametrize("mode", MODES)
def test_limits_as_in_jax(shared_file, mode):
    rows, _ = table(shared_file, mode)
    for name, limits in rows["limits"].items():
        info = (dtypes.iinfo if "int" in name else dtypes.finfo)(dtypes.dtype(name))
        for field, want in limits.items():
            got = getattr(info, field)
            assert (got if isinstance(want, int) else str(float(got))) == want, (name, field)
        assert dtypes.bit_width(dtypes.dtype(name)) == limits["bits"]


@pytest.mark.parametrize("mode", MODES)
def test_categories_as_in_jax(shared_file, mode):
    rows, _ = table(shared_file, mode)
    for name, categories in rows["issubdtype"].items():
        for category, want in categories.items():
            assert dtypes.issubdtype(name, getattr(np, category)) is want, (name, category)


def test_order_of_operands_does_not_matter():
    names = [LETTERS[k] for k in ("b", "i1", "u4", "u8", "h", "f2", "c8", "I", "F", "C")]
    for three in itertools.combinations(names, 3):
        results = {str(outcome(*order, x64=True)) for order in itertools.permutations(three)}
        assert len(results) == 1, (three, results)


def test_weak_types_of_unusual_width_stay_weak():
    assert promote((dtypes.int16, True), (dtypes.int16, True)) == (dtypes.int16, True)
    assert promote((dtypes.int16, True), (dtypes.int8, False)) == (dtypes.int8, False)
    assert promote((dtypes.bool_, True), (dtypes.bool_, True)) == (dtypes.bool_, False)


def test_canonicalize():
    wide = [dtypes.int64, dtypes.uint64, dtypes.float64, dtypes.complex128]
    narrow = [dtypes.int32, dtypes.uint32, dtypes.float32, dtypes.complex64]
    assert [dtypes.canonicalize(d, x64=False) for d in wide] == narrow
    assert [dtypes.canonicalize(d, x64=True) for d in wide] == wide
    for d in (dtypes.bfloat16, key_dtype, float0, dtypes.bool_):
        assert dtypes.canonicalize(d, x64=False) is d


def test_a_dtype_from_anything():
    for spelling in ("float32", np.float32, np.dtype("f4"), np.float32(1), np.ones(2, "f4")):
        assert dtypes.dtype(spelling) is dtypes.float32
    assert dtypes.dtype("bfloat16") is dtypes.dtype(ml_dtypes.bfloat16) is dtypes.bfloat16
    assert dtypes.dtype("longlong") is dtypes.dtype("int64") is dtypes.int64
    assert dtypes.dtype(int) is dtypes.int64
    assert dtypes.dtype(key_dtype) is key_dtype
    with pytest.raises(TypeError, match="None is not a dtype"):
        dtypes.dtype(None)
    with pytest.raises(TypeError):
        dtypes.dtype("float33")


@pytest.mark.parametrize(
    ("dtype", "short"),
    [("bool", "bool"), ("int32", "i32"), ("uint8", "u8"), ("int4", "i4"), ("uint2", "u2"),
     ("float16", "f16"), ("bfloat16", "bf16"), ("complex64", "c64"), (key_dtype, "key<fry>"),
     ("float8_e4m3fn", "f8_e4m3fn"), ("float4_e2m1fn", "f4_e2m1fn"), (float0, "float0")],
)  # fmt: skip
def test_short_names(dtype, short):
    assert dtypes.short_name(dtypes.dtype(dtype)) == short


def test_key_dtype():
    assert str(key_dtype) == repr(key_dtype) == key_dtype.name == "key<fry>"
    assert key_dtype.itemsize == 8 and dtypes.storage_dtype(key_dtype) == np.uint64
    assert dtypes.KeyDType("fry") is key_dtype is pickle.loads(pickle.dumps(key_dtype))
    assert dtypes.KeyDType("rbg") is not key_dtype
    assert dtypes.issubdtype(key_dtype, dtypes.prng_key)
    assert dtypes.issubdtype(key_dtype, dtypes.extended)
    assert dtypes.issubdtype(dtypes.prng_key, dtypes.extended)
    assert not dtypes.issubdtype(key_dtype, np.number)
    assert not dtypes.issubdtype("float32", dtypes.prng_key)
    assert promote((key_dtype, False), (key_dtype, False)) == (key_dtype, False)
    with pytest.raises(ValueError, match="random keys mix with keys only"):
        promote((key_dtype, False), (dtypes.int32, False))


def test_issubdtype_of_concrete_types():
    assert dtypes.issubdtype(float, "float64")
    assert dtypes.issubdtype("float32", np.float32)
    assert not dtypes.issubdtype("float32", float)
    assert dtypes.issubdtype("bfloat16", np.floating)
    assert not dtypes.issubdtype("bfloat16", np.float32)
    assert dtypes.issubdtype(np.integer, np.number)
    assert not dtypes.issubdtype(np.number, "int32")
    assert dtypes.issubdtype(float0, np.void)


def test_float0_takes_part_in_no_arithmetic():
    assert dtypes.kind(float0) == "float0" and float0.itemsize == 0
    with pytest.raises(TypeError, match="float0 arrays"):
        promote((float0, False), (dtypes.float32, False))


def test_unsupported_dtypes():
    for spelling in ("O", "S3", "U2", "M8[s]", ">f4", "longdouble"):
        assert not dtypes.is_supported(dtypes.dtype(spelling))


def test_requested_dtypes_warn_when_they_are_narrowed():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64 .* in zeros"):
        assert dtypes.requested("float64", x64=False, function="zeros") is dtypes.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.requested(float, x64=False, function="zeros") is dtypes.float32
        assert dtypes.requested("float64", x64=True, function="zeros") is dtypes.float64
    with pytest.raises(TypeError, match="zeros got dtype 'S3'"):
        dtypes.requested("S3", x64=False, function="zeros")


def test_promotion_errors_say_what_to_do():
    with pytest.raises(dtypes.TypePromotionError, match=r"float8_e4m3fn.*x\.astype\('float32'\)"):
        promote((dtypes.dtype("float8_e4m3fn"), False), (dtypes.float32, False))
    with pytest.raises(dtypes.TypePromotionError, match="strict mode"):
        promote((dtypes.int32, False), (dtypes.float32, False), strict=True)


def test_parts_of_complex():
    assert dtypes.real_dtype(dtypes.complex64) == np.float32
    assert dtypes.real_dtype(dtypes.float16) == np.float16
    assert dtypes.complex_dtype(dtypes.float64) == np.complex128
    assert dtypes.complex_dtype(dtypes.bfloat16) == np.complex64
