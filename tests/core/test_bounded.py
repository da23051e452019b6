"""Dicts that forget what came first."""

from jacana.core.bounded import Bounded


def test_the_first_quarter_makes_room():
    kept = Bounded(8)
    for i in range(8):
        kept[i] = i
    kept[0] = "again"
    assert len(kept) == 8
    kept[8] = 8
    assert list(kept) == [2, 3, 4, 5, 6, 7, 8]
    for i in range(1000):
        kept[i] = i
        assert len(kept) <= 8
