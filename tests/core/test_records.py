"""Records: what they have in common with dataclasses."""

import pickle

import pytest

from jacana.core.records import fields_of, record, replace


@record
class Point:
    """A point."""

    x: int
    y: int = 0

    def size(self):
        return self.x + self.y


@record(eq=False)
class Node:
    children: tuple = ()


@record(eq=False, frozen=False)
class Call:
    inputs: list


@record(eq=False, frozen=False)
class Named(Call):
    name: str
    params: tuple = ()


@record
class Empty:
    pass


def test_fields_are_arguments_by_position_and_name():
    assert (Point(1).x, Point(1).y, Point(y=3, x=2).size()) == (1, 0, 5)
    assert fields_of(Named) == ("inputs", "name", "params")
    assert Named([1], "a").params == ()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()


def test_equal_fields_make_equal_records_of_one_class():
    assert Point(1, 2) == Point(1, 2) != Point(1, 3)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != (1, 2)
    assert Empty() == Empty() and hash(Empty()) == hash(Empty())
    assert Node() != Node() and len({Node(), Node()}) == 2


def test_frozen_ones_do_not_change():
    with pytest.raises(AttributeError, match="`x` cannot be changed"):
        Point(1).x = 2
    with pytest.raises(AttributeError, match="`y` cannot be changed"):
        del Point(1).y
    call = Call([])
    call.inputs = [1]
    assert call.inputs == [1]
    with pytest.raises(AttributeError):
        Point(1).z = 1


def test_text_patterns_copies_and_pickles():
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert replace(Point(1, 2), y=5) == Point(1, 5)
    node = Node((Node(),))
    again = pickle.loads(pickle.dumps((node, node.children[0])))
    assert again[0].children[0] is again[1]
    assert Point.__doc__ == "A point."
