"""One exception per mistake a user can make: what was done, what was found, what to do."""

from typing import TYPE_CHECKING, Any

from jacana.core.source import user_source

if TYPE_CHECKING:
    from jacana.core.trace import Tracer


class JAXTypeError(TypeError):
    """What JAX calls the errors that say how traced values may be used."""


class JAXIndexError(IndexError):
    """The same where an index is at fault."""


class JaxRuntimeError(RuntimeError):
    """A compiled program failed."""


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed: a fault of the pass or rule that made it."""


class InconclusiveDimensionOperation(Exception):
    """A question about a symbolic dimension has not one answer for all its values."""


def describe(tracer: "Tracer") -> str:
    """The traced value: its type, the arguments it comes from, the user's line that made it."""
    source = tracer.origin()
    made = f", made at {source}" if source else ""
    arguments = tracer.arguments()
    of = f" that depends on {arguments}" if arguments and source else ""
    of = f", {arguments}" if arguments and not source else of
    return f"a traced array of type {tracer.aval.str_short()}{of}{made}"


def here() -> str:
    """The user's line that is running, as an insertion."""
    source = user_source()
    return f" at {source}" if source else ""


class NotAnArrayError(TypeError):
    """Something that is not an array was given where one is needed."""

    def __init__(self, value: Any, function: str = "", argument: str = ""):
        where = f"{function} needs an array" if function else "An array is needed"
        which = f" as argument {argument}" if argument else ""
        found = repr(value)
        found = found if len(found) <= 60 else found[:57] + "..."
        super().__init__(
            f"{where}{which}, got {found} of type {type(value).__module__}."
            f"{type(value).__qualname__}, which is not a valid JAX type. Pass numbers or arrays "
            f"(convert lists with jnp.array), or mark the argument static where jit is used."
        )


class IndivisibleError(ValueError):
    """A sharding would divide a dimension into parts of different sizes."""


class DuplicateSpecError(ValueError):
    """A spec divides two dimensions by one axis of the mesh."""


class RefOperandError(TypeError):
    """A reference was given to an operation on arrays."""

    def __init__(self, operation: str):
        super().__init__(
            f"{operation} requires ndarray or scalar arguments, got a reference to an array. Read "
            f"it first: ref[...]."
        )


def returned_ref(function: str, transformation: str, aval: Any, where: str = "") -> ValueError:
    """The error for a function that returns a reference."""
    place = f" at output tree path {where}" if where else ""
    return ValueError(
        f"function {function} traced for {transformation} returned a mutable array reference of "
        f"type {aval}{place}, but mutable array references cannot be returned. Return what it "
        f"holds, ref[...], or make the reference outside and pass it as an argument."
    )


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where its concrete value is needed.

    Inside `jit`, `vmap` and the like arrays have shapes and dtypes but no values yet. Compute with
    jnp functions instead (`jnp.where`, `lax.cond`), or pass the value as a static argument.
    """

    def __init__(self, tracer: "Tracer", use: str = "", repair: str = ""):
        use = use or "a concrete value"
        repair = repair or (
            "Keep it an array and use jnp functions, or mark the argument that it comes from as "
            "static (static_argnums of jit)."
        )
        self.tracer = tracer
        super().__init__(
            f"Abstract tracer value encountered where concrete value is expected: {use} was asked"
            f"{here()} of {describe(tracer)}, whose value is not known while the function is "
            f"traced. {repair}"
        )

    @classmethod
    def of_float(cls, tracer: "Tracer") -> "ConcretizationTypeError":
        return cls(tracer, "float(...)", "Use x.astype(float) to convert it as an array.")

    @classmethod
    def of_complex(cls, tracer: "Tracer") -> "ConcretizationTypeError":
        return cls(tracer, "complex(...)", "Use x.astype(complex) to convert it as an array.")

    @classmethod
    def of_format(cls, tracer: "Tracer") -> "ConcretizationTypeError":
        return cls(tracer, "its text in a format", "Format the result outside of the function.")

    @classmethod
    def of_item(cls, tracer: "Tracer") -> "ConcretizationTypeError":
        return cls(tracer, ".item()")

    @classmethod
    def of_tolist(cls, tracer: "Tracer") -> "ConcretizationTypeError":
        return cls(tracer, ".tolist()")


class TracerBoolConversionError(ConcretizationTypeError):
    """`if`, `while`, `and`, `or`, `not` or bool() was applied to a traced array."""

    def __init__(self, tracer: "Tracer"):
        super().__init__(
            tracer,
            "a truth value (if, while, and, or, not)",
            "Attempted boolean conversion of traced array: use jnp.where or lax.cond to choose, "
            "& | ~ to combine conditions, or mark the argument that it comes from as static.",
        )


class TracerIntegerConversionError(JAXTypeError):
    """A traced array was used as a Python integer (an index of a list, a shape, range())."""

    def __init__(self, tracer: "Tracer", use: str = "The __index__() method"):
        self.tracer = tracer
        super().__init__(
            f"{use} was called{here()} on {describe(tracer)}, whose value is not known while the "
            f"function is traced. Index with jnp arrays (jnp.asarray(list)[i], jnp.take), or mark "
            f"the argument that it comes from as static (static_argnums of jit)."
        )

    @staticmethod
    def of_int(tracer: "Tracer") -> Exception:
        return ConcretizationTypeError(
            tracer, "int(...)", "Use x.astype(int) to convert it as an array."
        )


class TracerArrayConversionError(JAXTypeError):
    """NumPy was asked to make an array of a traced one."""

    def __init__(self, tracer: "Tracer"):
        self.tracer = tracer
        super().__init__(
            f"The numpy.ndarray conversion method __array__() was called{here()} on "
            f"{describe(tracer)}. NumPy functions cannot be traced: use the function of the same "
            f"name in jax.numpy, or jax.pure_callback to call NumPy at run time."
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """A boolean mask whose values are traced decided the size of a result."""

    def __init__(self, tracer: "Tracer"):
        self.tracer = tracer
        super().__init__(
            f"Array boolean indices must be concrete; got{here()} {describe(tracer)}. The size of "
            f"x[mask] would depend on values: use jnp.where(mask, x, fill), "
            f"jnp.nonzero(mask, size=...), or x.at[mask].set(...) which keeps the size."
        )


class UnexpectedTracerError(JAXTypeError):
    """A traced value outlived the function that was traced.

    It was stored in a global, an attribute or a list and used later. Return it instead.
    """

    def __init__(self, tracer: "Tracer", user: str = ""):
        self.tracer = tracer
        by = f" while {user} was traced" if user else ""
        super().__init__(
            f"Encountered an unexpected tracer: {describe(tracer)}. It was used{here()}{by} after "
            f"the transformation that made it had ended: it leaked through a side effect, such as "
            f"an assignment to a global or an attribute. Return the value from the function "
            f"instead."
        )


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""
