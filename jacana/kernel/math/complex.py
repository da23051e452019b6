"""Complex scalars as pairs of real expressions."""
from dataclasses import dataclass

from jacana.kernel.expr import Expr


@dataclass(frozen=True, slots=True, eq=False)
class Complex:
    """re + i im."""

    re: Expr
    im: Expr

    def __neg__(self) -> "Complex":
        return Complex(-self.re, -self.im)

    def __add__(self, other: "Complex") -> "Complex":
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: "Complex") -> "Complex":
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: "Complex") -> "Complex":
        re = self.re * other.re - self.im * other.im
        return Complex(re, self.re * other.im + self.im * other.re)
