"""Patterns: trees of arguments and results as words that native code follows (`native_trees`)."""

import ctypes
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any

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
_UNIQUE = frozenset((types.FunctionType, types.BuiltinFunctionType, type))

# The word of a leaf, or None where it cannot be matched natively.
LeafWord = Callable[[Any], int | None]


class Pattern:
    """A tree as words, at an address; it keeps alive what the words point to."""

    __slots__ = ("_words", "_kept", "address", "leaves")

    def __init__(self, words: Sequence[int], kept: Sequence[object], leaves: Sequence[Any]) -> None:
        self._words = (ctypes.c_int64 * max(1, len(words)))(*words)
        self._kept, self.leaves = tuple(kept), tuple(leaves)
        self.address = ctypes.addressof(self._words)


class _Writer:
    def __init__(self, leaf_word: LeafWord) -> None:
        self.leaf_word = leaf_word
        self.words: list[int] = []
        self.kept: list[object] = []
        self.leaves: list[Any] = []

    def finish(self) -> Pattern:
        return Pattern(self.words, self.kept, self.leaves)

    def keep(self, value: object) -> int:
        self.kept.append(value)
        return id(value)

    def write(self, tree: Any, depth: int = 0) -> bool:
        """Append the pattern of a tree; False if native code does not know its nodes or leaves."""
        if depth > _MAX_DEPTH:
            return False
        kind = type(tree)
        if tree is None:
            self.words.append(TREE_NONE)
            return True
        if kind is tuple or kind is list:
            self.words += [TREE_TUPLE if kind is tuple else TREE_LIST, len(tree)]
            return all(self.write(item, depth + 1) for item in tree)
        if kind is dict:
            # A dict has its leaves in the order of its keys.
            if len({type(key) for key in tree}) > 1 or not all(type(k) in (str, int) for k in tree):
                return False
            self.words += [TREE_DICT, len(tree)]
            for key in sorted(tree):
                self.words.append(self.keep(key))
                if not self.write(tree[key], depth + 1):
                    return False
            return True
        word = self.leaf_word(tree)
        if word is None:
            return False
        self.words += [TREE_LEAF, word]
        self.leaves.append(tree)
        return True

    def write_static(self, value: Any) -> bool:
        """Append the pattern of a static value; False if native code cannot tell it."""
        kind = type(value)
        if value is None:
            self.words.append(TREE_NONE)
            return True
        if kind not in _COMPARABLE and kind not in _UNIQUE:
            return False
        self.words += [TREE_EQUAL if kind in _COMPARABLE else TREE_SAME, self.keep(value)]
        return True


def of_arguments(
    args: Sequence[Any],
    kwargs: dict[str, Any],
    static_numbers: Collection[int],
    static_names: Collection[str],
    leaf_word: LeafWord,
) -> Pattern | None:
    """What the arguments of a call look like: positional ones, then named ones by their names."""
    writer = _Writer(leaf_word)
    for number, value in enumerate(args):
        write = writer.write_static if number in static_numbers else writer.write
        if not write(value):
            return None
    for name in sorted(kwargs):
        write = writer.write_static if name in static_names else writer.write
        if not write(kwargs[name]):
            return None
    return writer.finish()


def of_results(tree: Any, numbers: Sequence[int]) -> Pattern | None:
    """A tree whose leaves are counted from 0, each standing for the result of a number."""
    writer = _Writer(lambda leaf: numbers[leaf] if type(leaf) is int else None)
    if not writer.write(tree) or list(writer.leaves) != list(range(len(numbers))):
        return None
    return writer.finish()
