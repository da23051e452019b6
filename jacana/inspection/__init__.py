"""jacana.inspect: a function's jaxpr, commands and loop programs, with their time and traffic."""

from jacana.inspection.report import Inspection as Inspection, Step as Step, inspect as inspect
