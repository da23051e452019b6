"""Times jacana beside NumPy, in this process, and beside JAX, in another, and prints the ratios.

    python bench/run.py                                  NumPy only
    python bench/run.py --jax-python JAX_ENV/bin/python  and JAX, turn by turn
    python bench/run.py --only jit --json out.json       rows whose name has `jit`

Only ratios from one run mean something; below 1 jacana is faster.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import microseconds

import jacana
import jacana.numpy as jnp

HERE = Path(__file__).resolve().parent
SUITES = ["quickstart", "small_calls", "arrays", "products", "loops"]

Clock = Callable[[str, float], float]


class Jax:
    """JAX in a process of its own."""

    def __init__(self, python: str, suite: str):
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.version = self._ask({"do": "load", "suite": suite})["version"]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process of JAX ended"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def time(self, name: str, seconds: float) -> float:
        return float(self._ask({"do": "time", "name": name, "seconds": seconds})["us"])

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def measure(name: str, sides: dict[str, Clock], options: argparse.Namespace) -> dict[str, Any]:
    """The row of one program: every side's best time, and ratios of jacana to each other side."""
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(options.blocks):
        for side, clock in sides.items():
            times[side].append(clock(name, options.seconds))
    row: dict[str, Any] = {"name": name, "us": {side: min(found) for side, found in times.items()}}
    row["ratio"] = {
        side: statistics.median(a / b for a, b in zip(times["jacana"], found, strict=True))
        for side, found in times.items()
        if side != "jacana"
    }
    return row


def show(row: dict[str, Any], sides: list[str]) -> str:
    text = f"{row['name']:32}"
    for side in sides:
        text += f"{row['us'][side]:14,.2f}" if side in row["us"] else f"{'-':>14}"
    for side in sides[1:]:
        text += f"{row['ratio'][side]:10.3f}" if side in row["ratio"] else f"{'-':>10}"
    return text


def header(sides: list[str]) -> str:
    return (
        f"{'':32}"
        + "".join(f"{side + ', us':>14}" for side in sides)
        + "".join(f"{'/ ' + side:>10}" for side in sides[1:])
    )


def run_suite(suite: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    module = importlib.import_module(suite)
    ours, numpys = module.programs(jacana, jnp), module.in_numpy()
    jax = Jax(options.jax_python, suite) if options.jax_python else None
    shown = ["jacana", "NumPy"] + (["JAX"] if jax else [])
    print(f"\n{suite}" + (f", JAX {jax.version}" if jax else ""))
    print(header(shown))
    rows = []
    for name in ours:
        if options.only and options.only not in name:
            continue
        sides: dict[str, Clock] = {"jacana": lambda n, s: microseconds(ours[n], s)}
        if name in numpys:
            sides["NumPy"] = lambda n, s: microseconds(numpys[n], s)
        if jax:
            sides["JAX"] = jax.time
        rows.append(measure(name, sides, options))
        print(show(rows[-1], shown), flush=True)
    if jax:
        jax.close()
    return rows


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Ratios of jacana to NumPy and JAX.")
    parser.add_argument("suites", nargs="*", default=SUITES, help=f"of {', '.join(SUITES)}")
    parser.add_argument("--jax-python", help="a Python that has jax, to compare with")
    parser.add_argument("--only", help="only programs whose name has this text")
    parser.add_argument("--blocks", type=int, default=5, help="turns of each side (5)")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a turn (0.1)")
    parser.add_argument("--json", type=Path, help="a file to write the rows to")
    return parser.parse_args(arguments)


def machine() -> str:
    """What this machine can do: copying, and the library of matrix products that NumPy has."""
    source = np.ones(1 << 25, np.float32)
    target = np.empty_like(source)
    copy = microseconds(lambda: np.copyto(target, source), 0.3)
    a = np.ones((2048, 2048), np.float32)
    product = microseconds(lambda: a @ a, 0.5)
    return (
        f"one core copies {2 * source.nbytes / copy / 1e3:.1f} GB/s; NumPy multiplies matrices at "
        f"{2 * 2048**3 / product / 1e3:.0f} GFLOP/s on {os.cpu_count()} cores"
    )


def main() -> None:
    options = parse(sys.argv[1:])
    print(machine())
    results = {suite: run_suite(suite, options) for suite in options.suites}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
