"""Pytrees: order, printing, prefixes, paths, registration."""

import collections
import dataclasses
import json
import pickle
import time

import pytest

from jacana import tree_util
from jacana.core import tree
from jacana.core.tree import DictKey, GetAttrKey, Partial, SequenceKey, keystr, structure

Point = collections.namedtuple("Point", "x y")
Ordered, Default = collections.OrderedDict, collections.defaultdict


class Box:
    """A node registered without keys."""

    def __init__(self, *parts, label="box"):
        self.parts, self.label = parts, label

    def __eq__(self, other):
        return (self.parts, self.label) == (other.parts, other.label)


tree.register_pytree_node(
    Box, lambda b: (b.parts, b.label), lambda label, parts: Box(*parts, label=label)
)


@tree.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    name: str = tree.static(default="layer")


@tree.register_static
@dataclasses.dataclass(frozen=True)
class Setting:
    value: int


def ordered():
    return Ordered(b=1, a=2)


def default():
    return Default(list, {"b": 1, "a": 2})


EXAMPLES = [
    1, None, (), [], {}, (1,), (1, [2, {"a": None}]), {"b": 1, "a": (2, None, [3])}, Point(1, [2]),
    ordered(), default(), Box(1, {"z": 2}), Layer({"w": 1, "b": 2}, "first"), Setting(3),
    Partial(print, 1, end=2), {3: 1, 1: {"y": 2, "x": 3}}, {True: 1}, {(1, 2): 3},
]  # fmt: skip
ids = [f"{i}-{type(x).__name__}" for i, x in enumerate(EXAMPLES)]


@pytest.mark.parametrize("x", EXAMPLES, ids=ids)
def test_round_trip(x):
    leaves, treedef = tree.flatten(x)
    assert treedef.num_leaves == len(leaves)
    back = treedef.unflatten(leaves)
    assert type(back) is type(x)
    if not isinstance(x, Partial):
        assert back == x
    assert structure(back) == treedef and hash(structure(back)) == hash(treedef)
    assert tree.flatten_with_path(x)[1] == treedef
    assert [leaf for _, leaf in tree.leaves_with_path(x)] == leaves
    assert pickle.loads(pickle.dumps(structure([0, (1, {"a": 2})]))) == structure(
        [0, (1, {"a": 2})]
    )


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (1, "*"), (None, "None"), ((1,), "(*,)"), ([1, {"x": None}], "[*, {'x': None}]"),
        ({"b": 1, "a": (2, 3)}, "{'a': (*, *), 'b': *}"), ((), "()"), ([], "[]"), ({}, "{}"),
        (ordered(), "CustomNode(OrderedDict[('b', 'a')], [*, *])"),
        (default(), "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *])"),
        (Point(1, 2), "CustomNode(namedtuple[Point], [*, *])"),
        (Box(1, 2), "CustomNode(Box[box], [*, *])"),
        (Layer(1, "n"), "CustomNode(Layer[('n',)], [*])"),
        (Setting(3), "CustomNode(Setting[Setting(value=3)], [])"),
        (Partial(len, 1), "CustomNode(Partial[<built-in function len>], [(*,), {}])"),
    ],
)  # fmt: skip
def test_printing(x, shown):
    assert repr(structure(x)) == f"PyTreeDef({shown})"


def test_printing_as_in_jax(shared_file):
    cases = json.loads(shared_file("golden/print_format.json").read_text())["x32"]
    shown = [c for c in cases if "tree" in c["expr"] and "jnp" not in c["expr"]]
    names = {"jax": type("jax", (), {"tree": tree, "tree_util": tree_util})}
    assert len(shown) >= 6
    for case in shown:
        assert repr(eval(case["expr"], names)) == case["repr"], case["expr"]


def test_dicts_come_back_in_the_order_of_their_keys():
    assert tree.leaves({"b": 1, "a": (2, None, [3])}) == [2, 3, 1]
    for first in ({"b": 1, "a": 2}, {"a": 2, "b": 1}):
        assert list(tree.map(lambda x: x, first)) == ["a", "b"]
    inside = tree.map(lambda x: x, Box({"b": 1, "a": 2}))
    assert list(inside.parts[0]) == ["a", "b"]
    assert list(tree.map(lambda x: x, default())) == ["a", "b"]
    assert list(tree.map(lambda x: x, ordered())) == ["b", "a"]


def test_equal_keys_of_other_types_are_kept():
    assert repr(tree.map(lambda x: x, {2: "a"})) == "{2: 'a'}"
    assert repr(tree.map(lambda x: x, {2.0: {-0.0: "a"}})) == "{2.0: {-0.0: 'a'}}"
    negative, positive = (tree.flatten(Box(1, label=zero))[1] for zero in (-0.0, 0.0))
    assert (repr(negative.node_data()[1]), repr(positive.node_data()[1])) == ("-0.0", "0.0")


def test_none_is_a_container():
    assert tree.map(lambda x: x + 1, {"a": None, "b": 1}) == {"a": None, "b": 2}
    assert tree.leaves((1, None), is_leaf=lambda x: x is None) == [1, None]
    with pytest.raises(ValueError, match="the prefix has None there, the full tree a leaf"):
        tree.map(lambda a, b: a, None, 1)


def test_what_is_a_leaf():
    queue, now = collections.deque([1, 2]), time.localtime()

    class Sub(dict):
        pass

    for leaf in (queue, now, Sub(a=1), "text", {1}, object):
        assert tree.leaves([leaf, {"a": (leaf, 1)}]) == [leaf, leaf, 1]
    assert structure({"q": queue}) == structure({"q": 0})
    assert tree.leaves((queue, (1, 2)), is_leaf=lambda x: x == (1, 2)) == [queue, (1, 2)]


def test_keys_without_order():
    for bad in ({1: 0, "y": 1}, [{"a": {None: 0, 1: 1}}], Box({1: 0, "y": 1})):
        with pytest.raises(ValueError, match="keys of a dict in a pytree must be sortable"):
            tree.leaves(bad)


MISMATCHES = [
    ((1, 2), [1, 2], r"at tree: the prefix has a tuple there, the full tree a list\."),
    ([1, 2], [1, 2, 3], r"a list of length 2 there, the full tree one of length 3\."),
    ({"a": [1]}, {"a": 1}, r"at tree\['a'\]: the prefix has a list there, the full tree a leaf"),
    ({"a": 1}, {"b": 1}, r"the keys of a dict differ: \['a'\] and \['b'\]"),
    ({"z": Point(1, 2)}, {"z": (1, 2)}, r"at tree\['z'\]: the prefix has a Point there"),
    ((1, 2), Point(1, 2), r"has a tuple there, the full tree a Point"),
    (ordered(), Ordered(a=1, b=2), r"static data of an OrderedDict differ: \('b', 'a'\)"),
    ({"a": 2, "b": 1}, default(), r"has a dict there, the full tree a defaultdict"),
    ([Box(1)], [Box(1, label="bag")], r"at tree\[0\]: the static data of a Box differ: box"),
    ((Box(1), 2), (Box(1, 2), 2), r"at tree\[0\]: a Box has 1 children in the prefix, 2 in"),
    (Layer((1, 2)), Layer([1, 2]), r"at tree\.weight: the prefix has a tuple there"),
]  # fmt: skip


@pytest.mark.parametrize(("prefix", "full", "message"), MISMATCHES)
def test_trees_that_do_not_match(prefix, full, message):
    with pytest.raises(ValueError, match=message):
        tree.map(lambda a, b: a, prefix, full)
    errors = tree.prefix_errors(prefix, full)
    with pytest.raises(ValueError, match=message.replace("tree:", "in_axes:")):
        raise errors[0]("tree" if "at tree" in message and "tree:" not in message else "in_axes")


def test_a_prefix_may_have_leaves_above_subtrees():
    assert tree.map(lambda a, b: (a, b), [1, 2], [1, {"a": 3}]) == [(1, 1), (2, {"a": 3})]
    assert tree.map(lambda a, b: b, {"a": 1}, {"a": default()}) == {"a": default()}
    assert tree.broadcast((1, 2), ((1, 2), [3, {"a": 4}])) == ((1, 1), [2, {"a": 2}])
    assert tree.broadcast_prefix((1, 2), ((1, 2), [3, {"a": 4}])) == [1, 1, 2, 2]
    none_is_leaf = lambda x: x is None
    assert tree.broadcast_prefix((None, 0), ((1, 2), 3), none_is_leaf) == [None, None, 0]
    with pytest.raises(ValueError, match=r"at in_axes\[1\]: the prefix has a list of length 2"):
        tree.broadcast_prefix((0, [1, 1]), ((1, 2), [3]), name="in_axes")
    assert tree.prefix_errors((1, 2), (1, 2)) == []
    assert structure((1, 2)).flatten_up_to(((1, 2), 3)) == [(1, 2), 3]


def test_wrong_number_of_leaves():
    with pytest.raises(ValueError, match="Too few leaves for PyTreeDef; expected 2, got 1"):
        tree.unflatten(structure((1, 2)), [1])
    with pytest.raises(ValueError, match="Too many leaves for PyTreeDef; expected 2, got 3"):
        tree.unflatten(structure((1, 2)), iter([1, 2, 3]))
    with pytest.raises(TypeError, match="needs a PyTreeDef first, got list"):
        tree.unflatten([1], structure(1))


def test_reductions():
    add = lambda a, b: a + b
    assert tree.reduce(add, (1, (2, 3))) == 6
    assert tree.reduce(add, (1,), 10) == 11
    assert tree.reduce_associative(add, ["a", ("b", "c"), ["d", "e"]]) == "abcde"
    assert tree.reduce_associative(add, [], identity=0) == 0
    for empty in (tree.reduce, tree.reduce_associative):
        with pytest.raises(TypeError):
            empty(add, ())
    assert tree.all((True, (1, "x"))) and not tree.all((True, [0]))


def test_transpose():
    outer, inner = structure([0, 0]), structure({"a": 0})
    assert tree.transpose(outer, inner, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    assert tree.transpose(outer, None, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    assert tree.transpose(structure([]), inner, []) == {"a": []}
    with pytest.raises(TypeError, match=r"tree\.transpose.*list of length 2"):
        tree.transpose(outer, inner, [{"a": 1}])


def test_paths():
    x = (Point(1, 2), Layer(3), Box(4), ordered(), {"a": [5]}, Partial(print, 6, end=7))
    assert [keystr(path) for path, _ in tree.leaves_with_path(x)] == [
        "[0].x", "[0].y", "[1].weight", "[2][<flat index 0>]", "[3]['b']", "[3]['a']",
        "[4]['a'][0]", "[5][<flat index 0>][0]", "[5][<flat index 1>]['end']",
    ]  # fmt: skip
    path = (SequenceKey(0), GetAttrKey("x"), DictKey("k"))
    assert keystr(path, simple=True, separator="/") == "0/x/k"
    assert repr(path) == "(SequenceKey(idx=0), GetAttrKey(name='x'), DictKey(key='k'))"
    assert tree.map_with_path(lambda p, x, y: keystr(p) + x + y, {"a": "b"}, {"a": "c"}) == {
        "a": "['a']bc"
    }
    stop = lambda path, _: len(path) == 1
    found, treedef = tree.flatten_with_path({"a": (1, 2)}, stop, is_leaf_takes_path=True)
    assert found == [((DictKey("a"),), (1, 2))] and treedef == structure({"a": 0})


def test_registering():
    @tree_util.register_pytree_with_keys_class
    class Keyed:
        def __init__(self, a):
            self.a = a

        def tree_flatten_with_keys(self):
            return ((GetAttrKey("a"), self.a),), "static"

        @classmethod
        def tree_unflatten(cls, static, children):
            return cls(*children)

    @tree_util.register_pytree_node_class
    class Plain:
        def tree_flatten(self):
            return (1, 2), None

        @classmethod
        def tree_unflatten(cls, static, children):
            return cls()

    assert keystr(tree.leaves_with_path(Keyed({"k": 1}))[0][0]) == ".a['k']"
    assert tree.map(lambda x: x + 1, Keyed(1)).a == 2
    assert tree.leaves(Plain()) == [1, 2]
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration"):
        tree_util.register_pytree_node_class(Plain)
    with pytest.raises(ValueError, match="Duplicate"):
        tree.register_pytree_node(dict, lambda d: ((), None), lambda *_: {})


def test_a_leaf_type_may_be_registered_later():
    class Late:
        pass

    late = Late()
    assert tree.leaves((late,)) == [late]
    tree.register_pytree_node(Late, lambda _: ((1, 2), None), lambda *_: late)
    assert tree.leaves((late,)) == [1, 2] == tree.leaves(late)


def test_registering_named_tuples_and_dataclasses():
    Pair = collections.namedtuple("Pair", "a b")
    tree.register_pytree_node(Pair, lambda p: ((p.a,), p.b), lambda b, parts: Pair(*parts, b))
    assert tree.leaves(Pair(1, 2)) == [1]

    @dataclasses.dataclass
    class Three:
        a: int
        b: int
        c: int = dataclasses.field(default=0, init=False)

    with pytest.raises(ValueError, match=r"every field of Three .* missing \['b'\]"):
        tree.register_dataclass(Three, ["a"], [])
    tree.register_dataclass(Three, ["b"], ["a"])
    assert tree.leaves(Three(1, 2)) == [2]
    assert tree.map(lambda x: 10 * x, Three(1, 2)) == Three(1, 20)
    with pytest.raises(TypeError, match="both data_fields and meta_fields"):
        tree.register_dataclass(Three, ["a"])


def test_structures():
    whole = structure((1, [2, {"a": None}]))
    assert (whole.num_nodes, whole.num_leaves) == (6, 2)
    assert (
        whole.children()
        == tree.treedef_children(whole)
        == [structure(0), structure([0, {"a": None}])]
    )
    assert whole.compose(structure((1, 2))) == structure(((1, 2), [(1, 2), {"a": None}]))
    assert tree.treedef_tuple([structure(1), structure([1])]) == structure((1, [1]))
    assert tree.treedef_is_leaf(structure(1)) and not tree.treedef_is_leaf(structure([1]))
    assert structure(1) != structure((1,)) and structure(1) != 5
    walked = structure((1, {"a": 2})).walk(lambda children, data: (children, data), str, [1, 2])
    assert walked == (("1", (("2",), ["a"])), None)


@pytest.mark.parametrize("x", EXAMPLES, ids=ids)
def test_structures_from_their_parts(x):
    whole = structure(x)
    registry = tree_util.default_registry
    rebuild = tree_util.PyTreeDef.from_node_data_and_children
    assert rebuild(registry, whole.node_data(), whole.children()) == whole


def test_one_level():
    assert list(tree.flatten_one_level({"b": 1, "a": (2,)})[0]) == [(2,), 1]
    assert tree.flatten_one_level(Point(1, 2)) == ([1, 2], Point)
    assert list(tree.flatten_one_level_with_keys([5])[0]) == [(SequenceKey(0), 5)]
    with pytest.raises(ValueError, match="can't tree-flatten type"):
        tree.flatten_one_level(3)
    assert [tree.is_tree_node(t) for t in (dict, Point, type(None), Box, int)] == [True] * 4 + [
        False
    ]
    assert tree.all_leaves([1, "a"]) and not tree.all_leaves([1, None])


def test_partial():
    f = Partial(divmod, 7)
    assert f(2) == (3, 1)
    assert tree.map(lambda x: x + 1, f)(2) == (4, 0)
    nested = Partial(f, 2)
    assert nested() == (3, 1) and tree.leaves(nested) == [2]
    assert structure(Partial(f, 2)) == structure(Partial(f, 3))
