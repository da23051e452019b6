"""A process that times JAX's programs when asked: it reads requests and writes answers, JSON lines.

The driver starts it with a Python that has jax. While it is not asked it waits and uses no
processor.
"""

import importlib
import json
import sys

import jax
import jax.numpy as jnp
from measure import microseconds


def answer(request: dict, programs: dict) -> dict:
    try:
        if request["do"] == "load":
            programs.update(importlib.import_module(request["suite"]).programs(jax, jnp))
            return {"version": jax.__version__}
        return {"us": microseconds(programs[request["name"]], request["seconds"])}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    programs: dict = {}
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), programs)), flush=True)


if __name__ == "__main__":
    main()
