"""The dtypes as callables: `jnp.float32(3)` makes an array, and `jnp.float32` works as a dtype."""

import builtins
from typing import Any, NoReturn

import numpy as np

from jacana.core import dtypes
from jacana.numpy.creation import asarray


class ScalarType(type):
    """The class of jnp.float32 and the like: callable, and equal to NumPy's scalar type."""

    dtype: np.dtype[Any]

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> builtins.bool:
        if isinstance(other, ScalarType):
            return cls is other or cls.dtype == other.dtype
        return builtins.bool(cls.dtype.type == other or cls.dtype == other)

    def __ne__(cls, other: object) -> builtins.bool:
        return not cls == other

    def __call__(cls, x: Any = 0) -> Any:
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> builtins.bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'jax.numpy.{cls.__name__}'>"


def _refuse(self: Any) -> NoReturn:
    raise TypeError("JAX scalar types are called to make arrays; they have no instances.")


def _scalar_type(name: str) -> Any:
    found = dtypes.dtype(name)
    return ScalarType(name, (), {"dtype": found, "__init__": _refuse, "__module__": "jax.numpy"})


bool_ = _scalar_type("bool")
int1, int2, int4 = (_scalar_type(name) for name in ("int1", "int2", "int4"))
int8, int16 = _scalar_type("int8"), _scalar_type("int16")
int32, int64 = _scalar_type("int32"), _scalar_type("int64")
uint1, uint2, uint4 = (_scalar_type(name) for name in ("uint1", "uint2", "uint4"))
uint8, uint16 = _scalar_type("uint8"), _scalar_type("uint16")
uint32, uint64 = _scalar_type("uint32"), _scalar_type("uint64")
float8_e3m4, float8_e4m3 = _scalar_type("float8_e3m4"), _scalar_type("float8_e4m3")
float8_e4m3fn, float8_e4m3fnuz = _scalar_type("float8_e4m3fn"), _scalar_type("float8_e4m3fnuz")
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz")
float8_e5m2, float8_e5m2fnuz = _scalar_type("float8_e5m2"), _scalar_type("float8_e5m2fnuz")
float8_e8m0fnu, float4_e2m1fn = _scalar_type("float8_e8m0fnu"), _scalar_type("float4_e2m1fn")
float6_e2m3fn, float6_e3m2fn = _scalar_type("float6_e2m3fn"), _scalar_type("float6_e3m2fn")
bfloat16, float16 = _scalar_type("bfloat16"), _scalar_type("float16")
float32, float64 = _scalar_type("float32"), _scalar_type("float64")
complex64, complex128 = _scalar_type("complex64"), _scalar_type("complex128")

# Other names of the same; without a width they are those of 64 bits, as NumPy has it.
bool = bool_
single, double, float_ = float32, float64, float64
csingle, cdouble, complex_ = complex64, complex128, complex128
int_, uint = int64, uint64
