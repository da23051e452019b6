"""Other dtypes, bits, and the parts of complex numbers, as JAX's lax has them."""

from typing import Any

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.values import aval_of
from jacana.lax.operands import check, nary, unary


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The operand in another dtype, never weakly typed; int, float and bool are the default ones.

    Floats become integers toward zero and saturate; integers wrap; complex numbers lose their
    imaginary part.

    >>> convert_element_type(np.float32([1.7, -1.7]), np.int32)
    Array([ 1, -1], dtype=int32)
    """
    if new_dtype is None:
        raise ValueError("dtype must be specified. Name one, such as 'float32'.")
    check("convert_element_type", operand)
    dtype = dtypes.requested(new_dtype, config.current().enable_x64, "convert_element_type")
    aval = aval_of(operand)
    if hasattr(operand, "aval") and aval.dtype == dtype and not aval.weak_type:
        return operand
    return ops.convert_element_type(operand, new_dtype=dtype, weak_type=False)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The operand's bits as another dtype.

    A narrower dtype adds a last axis for the parts of an element, lowest bits first; a wider one
    takes it away. TypeError for booleans and complex numbers.

    >>> bitcast_convert_type(np.float32(1), np.int32)
    Array(1065353216, dtype=int32)
    """
    check("bitcast_convert_type", operand)
    dtype = dtypes.requested(new_dtype, config.current().enable_x64, "bitcast_convert_type")
    return ops.bitcast_convert_type(operand, new_dtype=dtype)


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Floats rounded to what a type of so many bits holds, in their own dtype.

    >>> reduce_precision(np.float32(3.1415927), exponent_bits=8, mantissa_bits=7)
    Array(3.140625, dtype=float32)
    """
    return unary(
        ops.reduce_precision, operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )


def real(x: Any) -> Any:
    """The real part of complex numbers.

    >>> real(np.complex64(1 + 2j))
    Array(1., dtype=float32)
    """
    return unary(ops.real, x)


def imag(x: Any) -> Any:
    """The imaginary part of complex numbers.

    >>> imag(np.complex64(1 + 2j))
    Array(2., dtype=float32)
    """
    return unary(ops.imag, x)


def complex(x: Any, y: Any) -> Any:
    """x + i y; float32 or float64.

    >>> complex(np.float32(1), np.float32(2))
    Array(1.+2.j, dtype=complex64)
    """
    return nary(ops.complex, x, y)


def conj(x: Any) -> Any:
    """The conjugate, as a complex number also of a real one.

    >>> conj(np.complex64(1 + 2j))
    Array(1.-2.j, dtype=complex64)
    """
    check("conj", x)
    return ops.conj(x, input_dtype=aval_of(x).dtype)
