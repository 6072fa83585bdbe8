"""Items that arrive one by one, and the moments at which the next may have to be waited for.

A program that writes one sentence into a pipe and waits for the answer must get it; a program that sends
thousands wants them parsed in batches. So an iterator over what comes in yields None wherever its source has
nothing more at the moment, and each step passes the None on: a batch ends there, output is flushed there.
Code that does not care sees the items alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Incoming(Iterator[T]):
    """The items of an iterator, without the Nones that it yields where the next may have to be waited for.

    Parameters
    ----------
    items : iterator
        Closed, if it can be, when this is no longer used.
    """

    def __init__(self, items: Iterator[T | None]) -> None:
        self.items = items

    def __next__(self) -> T:
        for item in self.items:
            if item is not None:
                return item
        raise StopIteration


def incoming(items: Iterable[T]) -> Iterator[T | None]:
    """Iterate over items and, if they are `Incoming`, over the Nones between them."""
    iterator = iter(items)
    return iterator.items if isinstance(iterator, Incoming) else iterator
