"""Patterns: trees of arguments and results as words that native code follows (`native_trees`)."""

import ctypes
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.compiler.llvm.native_layout import (
    TREE_DICT,
    TREE_EQUAL,
    TREE_LEAF,
    TREE_LIST,
    TREE_NONE,
    TREE_SAME,
    TREE_TUPLE,
)

_MAX_DEPTH = 50
# Static values that are equal if they are of one type and Python says so, without Python code; and
# those that are equal only to themselves.
_COMPARABLE = frozenset((bool, int, str, bytes))
_UNIQUE = (types.FunctionType, types.BuiltinFunctionType, type, np.dtype, types.EllipsisType)

# The word of a leaf; None for what is a static value.
LeafWord = Callable[[Any], int | None]


class Pattern:
    """A tree as words, at an address; it keeps alive what the words point to."""

    __slots__ = ("_words", "_kept", "address", "leaves")

    def __init__(self, words: Sequence[int], kept: Sequence[object], leaves: Sequence[Any]) -> None:
        self._words = (ctypes.c_int64 * max(1, len(words)))(*words)
        self._kept, self.leaves = tuple(kept), tuple(leaves)
        self.address = ctypes.addressof(self._words)


class _Writer:
    def __init__(self) -> None:
        self.words: list[int] = []
        self.kept: list[object] = []
        self.leaves: list[Any] = []

    def finish(self) -> Pattern:
        return Pattern(self.words, self.kept, self.leaves)

    def keep(self, value: object) -> int:
        self.kept.append(value)
        return id(value)

    def write(self, tree: Any, leaf_word: LeafWord, depth: int = 0) -> bool:
        """Append the pattern of a tree; False if native code does not know a part of it."""
        kind = type(tree)
        if depth > _MAX_DEPTH:
            return False
        if tree is None:
            self.words.append(TREE_NONE)
            return True
        if kind is tuple or kind is list:
            self.words += [TREE_TUPLE if kind is tuple else TREE_LIST, len(tree)]
            return all(self.write(item, leaf_word, depth + 1) for item in tree)
        if kind is dict:
            return self._write_dict(tree, leaf_word, depth)
        word = leaf_word(tree)
        if word is None:
            return self._write_static(tree)
        self.words += [TREE_LEAF, word]
        self.leaves.append(tree)
        return True

    def _write_dict(self, tree: dict[Any, Any], leaf_word: LeafWord, depth: int) -> bool:
        # A dict has its leaves in the order of its keys.
        if len({type(key) for key in tree}) > 1 or not all(type(k) in (str, int) for k in tree):
            return False
        self.words += [TREE_DICT, len(tree)]
        for key in sorted(tree):
            self.words.append(self.keep(key))
            if not self.write(tree[key], leaf_word, depth + 1):
                return False
        return True

    def _write_static(self, value: Any) -> bool:
        kind = type(value)
        is_number = kind is float and is_told_by_equality(value)
        if kind in _COMPARABLE or is_number or kind is slice and is_plain_slice(value):
            self.words += [TREE_EQUAL, self.keep(value)]
        elif kind is float or isinstance(value, _UNIQUE):
            self.words += [TREE_SAME, self.keep(value)]
        else:
            return False
        return True


def is_told_by_equality(value: float) -> bool:
    """Whether a number that is equal is the same: zeros of both signs are equal, nan to nothing."""
    return value == value and value != 0


def is_plain_slice(value: slice) -> bool:
    """Whether the bounds are Python integers."""
    bounds = (value.start, value.stop, value.step)
    return all(bound is None or type(bound) is int for bound in bounds)


def of_arguments(
    args: Sequence[Any], kwargs: dict[str, Any], leaf_word_of: Callable[[int | str], LeafWord]
) -> Pattern | None:
    """What the arguments of a call look like: positional ones, then named ones by their names."""
    writer = _Writer()
    places: list[tuple[int | str, Any]] = [*enumerate(args)]
    places += [(name, kwargs[name]) for name in sorted(kwargs)]
    for place, value in places:
        if not writer.write(value, leaf_word_of(place)):
            return None
    return writer.finish()


def of_results(tree: Any, numbers: Sequence[int]) -> Pattern | None:
    """A tree whose leaves are counted from 0, each standing for the result of a number."""
    writer = _Writer()
    if not writer.write(tree, lambda leaf: numbers[leaf] if type(leaf) is int else None):
        return None
    return writer.finish() if writer.leaves == list(range(len(numbers))) else None
