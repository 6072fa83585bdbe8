"""Garbage collection is off where it should be, and as it was afterwards."""

import gc

import pytest

from mtparse.runtime import gc_pause

pytestmark = pytest.mark.nojit


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    gc.unfreeze()
    gc.enable()


def test_it_pauses_and_goes_on():
    with gc_pause.paused():
        assert not gc.isenabled()
        with gc_pause.paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), gc_pause.paused():
        raise KeyError
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off():
    gc.disable()
    with gc_pause.paused():
        pass
    assert not gc.isenabled()


def test_what_a_pause_leaves_is_collected_later():
    with gc_pause.paused():
        cycle = [[]]
        cycle[0].append(cycle)
        del cycle
    assert gc.get_freeze_count() == 0
    assert gc.collect() >= 2


def test_frozen_objects_stay_frozen():
    with gc_pause.start_up():
        pass
    frozen = gc.get_freeze_count()
    assert frozen > 0
    with gc_pause.paused():
        kept = [[] for _ in range(100)]
    assert 0 < gc.get_freeze_count() <= frozen
    assert len(kept) == 100


def test_nothing_is_frozen_when_the_start_fails():
    with pytest.raises(KeyError), gc_pause.start_up():
        raise KeyError
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
