"""Events that programs record and listen to, under the names of jax.monitoring.

Nothing in jacana records any: see jacana.profiler and jax_log_compiles for what it does.
"""

from collections.abc import Callable
from typing import Any

__all__ = [
    "clear_event_listeners", "record_event", "record_event_duration_secs",
    "record_event_time_span", "record_scalar", "register_event_duration_secs_listener",
    "register_event_listener", "register_event_time_span_listener", "register_scalar_listener",
    "unregister_event_duration_listener", "unregister_event_listener",
    "unregister_event_time_span_listener", "unregister_scalar_listener",
]  # fmt: skip

Listener = Callable[..., None]

# Kind of event -> who wants to know.
_listeners: dict[str, list[Listener]] = {"event": [], "duration": [], "span": [], "scalar": []}


def _tell(kind: str, *values: Any, **metadata: str | int) -> None:
    for listener in list(_listeners[kind]):
        listener(*values, **metadata)


def _remove(kind: str, callback: Listener) -> None:
    if callback not in _listeners[kind]:
        raise ValueError(f"{callback!r} is not registered as a listener of this kind of event.")
    _listeners[kind].remove(callback)


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners of events that one happened.

    >>> seen = []
    >>> register_event_listener(lambda event, **metadata: seen.append((event, metadata)))
    >>> record_event("/app/saved", step=3)
    >>> seen
    [('/app/saved', {'step': 3})]
    >>> clear_event_listeners()
    """
    _tell("event", event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners of durations how many seconds something took."""
    _tell("duration", event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tell the listeners of spans when something began and ended."""
    _tell("span", event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float, **kwargs: str | int) -> None:
    """Tell the listeners of scalars a number."""
    _tell("scalar", event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Call callback(event, **metadata) for each event from here on."""
    _listeners["event"].append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call callback(event, seconds, **metadata) for each duration from here on."""
    _listeners["duration"].append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call callback(event, start, end, **metadata) for each span from here on."""
    _listeners["span"].append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call callback(event, value, **metadata) for each scalar from here on."""
    _listeners["scalar"].append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Stop calling a listener of events; ValueError if it is none."""
    _remove("event", callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Stop calling a listener of durations; ValueError if it is none."""
    _remove("duration", callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Stop calling a listener of spans; ValueError if it is none."""
    _remove("span", callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Stop calling a listener of scalars; ValueError if it is none."""
    _remove("scalar", callback)


def clear_event_listeners() -> None:
    """Stop calling all listeners."""
    for found in _listeners.values():
        found.clear()
