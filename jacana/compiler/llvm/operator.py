"""Instructions on values of one register type and width, scalars or vectors, as LLVM text."""

from jacana.compiler.llvm.code import Code, float_text, splat, suffix, vector_type


class Operator:
    """Writes instructions on values of one register type and width."""

    def __init__(self, code: Code, register: str, width: int):
        self.code, self.width, self.register = code, width, register
        self.vector = vector_type(register, width)
        self.suffix = suffix(register, width)

    def const(self, value: int | float) -> str:
        if self.register in ("float", "double"):
            type = "float32" if self.register == "float" else "float64"
            return splat(self.register, float_text(float(value), type), self.width)
        return splat(self.register, str(value), self.width)

    def op(self, name: str, *operands: str) -> str:
        return self.code.let(f"{name} {self.vector} {', '.join(operands)}")

    def call(self, name: str, *operands: str, flag: str = "") -> str:
        listed = ", ".join(f"{self.vector} {o}" for o in operands)
        return self.code.let(f"call {self.vector} @llvm.{name}.{self.suffix}({listed}{flag})")

    def compare(self, test: str, a: str, b: str) -> str:
        kind = "fcmp" if self.register in ("float", "double") else "icmp"
        return self.code.let(f"{kind} {test} {self.vector} {a}, {b}")

    def select(self, cond: str, a: str, b: str) -> str:
        mask = vector_type("i1", self.width)
        return self.code.let(f"select {mask} {cond}, {self.vector} {a}, {self.vector} {b}")

    def cast(self, name: str, register: str, x: str) -> str:
        """x cast to another register type."""
        to = vector_type(register, self.width)
        return self.code.let(f"{name} {self.vector} {x} to {to}")

    def other(self, register: str) -> "Operator":
        return Operator(self.code, register, self.width)
