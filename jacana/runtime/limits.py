"""What the system lets this process use: processors and memory, control groups included."""

import os
import sys
from collections.abc import Iterator

_GROUPS = "/sys/fs/cgroup"


def processors() -> int:
    """How many processors this process may keep busy, at least one."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    for quota in _quotas():
        allowed = min(allowed, max(1, int(quota + 0.5)))
    return max(1, allowed)


def memory() -> int:
    """How many bytes this process may hold: the machine's, or its control group's limit."""
    limit = _machine_memory()
    for name in ("memory.max", "memory.limit_in_bytes"):
        for text in _group_files(name, "memory"):
            if text.isdigit():
                limit = min(limit, int(text))
    return limit


def available_memory() -> int:
    """How many bytes could be used now without pressing anybody out; `memory()` if unknown."""
    facts = _meminfo()
    if "MemAvailable" not in facts:
        return memory()
    available = facts["MemAvailable"] + facts.get("SwapFree", 0)
    for limit_name, used_name in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        limits, used = _group_files(limit_name, "memory"), _group_files(used_name, "memory")
        for limit, use in zip(limits, used):
            if limit.isdigit() and use.isdigit():
                available = min(available, int(limit) - int(use))
    return available


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _meminfo() -> dict[str, int]:
    """The fields of /proc/meminfo in bytes; empty where there is no such file."""
    try:
        lines = _text("/proc/meminfo").split("\n")
    except OSError:
        return {}
    pairs = [line.split() for line in lines if line.endswith("kB")]
    return {pair[0].rstrip(":"): int(pair[1]) * 1024 for pair in pairs}


def _machine_memory() -> int:
    facts = _meminfo()
    if "MemTotal" in facts:
        return facts["MemTotal"] + facts.get("SwapTotal", 0)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def _quotas() -> Iterator[float]:
    """Processors' worth of time that each control group above this process grants."""
    for text in _group_files("cpu.max", "cpu"):
        quota, _, period = text.partition(" ")
        if quota.isdigit() and period.isdigit():
            yield int(quota) / int(period)
    quotas = _group_files("cpu.cfs_quota_us", "cpu")
    for quota, period in zip(quotas, _group_files("cpu.cfs_period_us", "cpu")):
        if quota.isdigit() and period.isdigit():
            yield int(quota) / int(period)


def _group_files(name: str, controller: str) -> Iterator[str]:
    """The contents of a file of this process's control group and of each group above it."""
    for folder in _group_folders(controller):
        try:
            yield _text(os.path.join(folder, name)).strip()
        except OSError:
            continue


def _group_folders(controller: str) -> Iterator[str]:
    try:
        lines = _text("/proc/self/cgroup").split("\n")
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, inner = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        root = os.path.join(_GROUPS, controller) if controllers else _GROUPS
        folder = os.path.normpath(os.path.join(root, inner.lstrip("/")))
        while folder.startswith(root + "/"):
            yield folder
            folder = os.path.dirname(folder)
        yield root
