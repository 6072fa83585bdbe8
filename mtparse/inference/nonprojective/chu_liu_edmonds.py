"""Best non-projective trees: Chu-Liu-Edmonds in Tarjan's dense form, O(n²), single- and multi-root.

Every component (a word, or a contracted cycle) takes its best incoming arc; a path of such choices is
followed until it meets a component that is already joined to the root, or itself. In the latter case the
cycle becomes one component: an arc into it replaces the cycle's arc into the same member, so its score is
reduced by that arc's, and per head only the best is kept. Heads are never merged, only the rows of the
contracted modifiers are, so that all work is along contiguous rows (Tarjan 1977; Camerini, Fratta, Maffioli
1979 for the way back).

Single-root trees: count root arcs first and scores second, that is, minimise (root arcs, -score) in
lexicographic order, which any ordered group of weights allows. Because a component that takes a root arc is
never part of a cycle, no arc's count is ever reduced, and the rule comes down to "take a root arc only
where there is no other". A tree with two root arcs then proves that none has one.

Ties: of equally good arcs into a component the one with the lowest head is taken.
"""

from __future__ import annotations

import numpy as np

from mtparse.runtime.jit import kernel


@kernel
def _is_tree(heads):
    """Whether head choices without self-loops are a tree, with any number of root arcs."""
    size = heads.shape[0]
    # mark[v]: the word from which v was first reached; meeting one's own mark is a cycle.
    mark = np.zeros(size, np.int64)
    for m in range(1, size):
        v = m
        while v != 0 and mark[v] == 0:
            mark[v] = m
            v = heads[v]
        if v != 0 and mark[v] == m:
            return False
    return True


@kernel
def _try_one_root(scores, heads):
    """Whether the best heads are a tree with one root arc, given those that are the root only at need.

    Leaves ``heads`` as they are if not.
    """
    roots = 0
    root = 0
    for m in range(1, heads.shape[0]):
        if scores[0, m] >= scores[heads[m], m]:
            roots += 1
            root = m
    if roots != 1:
        return False
    other = heads[root]
    heads[root] = 0
    if _is_tree(heads):
        return True
    heads[root] = other
    return False


@kernel
def _greedy(scores, single, heads):
    """The best head of each word, lowest first; False if one has none. Single: 0 only as the last resort."""
    size = scores.shape[0]
    best = np.full(size, -np.inf)
    for m in range(1, size):
        heads[m] = -1
    for h in range(1 if single else 0, size):
        for m in range(1, size):
            if h != m and scores[h, m] > best[m]:
                best[m] = scores[h, m]
                heads[m] = h
    for m in range(1, size):
        if heads[m] < 0 and scores[0, m] > -np.inf:
            heads[m] = 0
    return not (heads[1:] < 0).any()


@kernel
def _best_head(row, single):
    """Index of the largest entry, lowest first; -1 if all are -inf. Single: 0 only as the last resort."""
    size = row.shape[0]
    # Four running maxima: one alone would wait for itself at every entry.
    a, b, c, d = -np.inf, -np.inf, -np.inf, -np.inf
    h = 1
    while h + 3 < size:
        a = row[h] if row[h] > a else a
        b = row[h + 1] if row[h + 1] > b else b
        c = row[h + 2] if row[h + 2] > c else c
        d = row[h + 3] if row[h + 3] > d else d
        h += 4
    while h < size:
        a = row[h] if row[h] > a else a
        h += 1
    best = max(max(a, b), max(c, d))
    if row[0] > -np.inf and row[0] >= best and (best == -np.inf or not single):
        return 0
    if best == -np.inf:
        return -1
    head = 1
    while row[head] != best:
        head += 1
    return head


# Choices with some arithmetic in them: of a plain choice between a new value and the one in memory the
# compiler makes a masked store, and loads that follow such a store have to wait for it.
@kernel
def _choose(condition, one, other):
    return (one if condition else other) + 0.0


@kernel
def _choose_word(condition, one, other):
    return other ^ ((other ^ one) & -np.int64(condition))


@kernel
def _absorb(row, component, old, name):
    """Rename a component; arcs from its words no longer enter the component of ``row``."""
    for h in range(row.shape[0]):
        inside = component[h] == old
        component[h] = _choose_word(inside, name, component[h])
        row[h] = _choose(inside, -np.inf, row[h])


@kernel
def _contract(scores, path, first, last, into, entered, slot, chosen, component, name):
    """Merge the components ``path[first:last]`` into component ``name``, in the rows of the first one.

    Words have no rows before they are first merged: few ever are, and reading a column is dear.
    """
    size = scores.shape[0]
    one = path[first]
    row = into[slot[one]]
    words = entered[slot[one]]
    if one < size:
        offset = scores[chosen[one], one]
        for h in range(size):
            row[h] = scores[h, one] - offset
            words[h] = one
    else:
        offset = row[chosen[one]]
        for h in range(size):
            row[h] -= offset
    for p in range(first + 1, last):
        one = path[p]
        if one < size:
            offset = scores[chosen[one], one]
            for h in range(size):
                value = scores[h, one] - offset
                better = value > row[h]
                row[h] = _choose(better, value, row[h])
                words[h] = _choose_word(better, one, words[h])
        else:
            other = into[slot[one]]
            other_words = entered[slot[one]]
            offset = other[chosen[one]]
            for h in range(size):
                value = other[h] - offset
                better = value > row[h]
                row[h] = _choose(better, value, row[h])
                words[h] = _choose_word(better, other_words[h], words[h])
    slot[name] = slot[path[first]]
    # Arcs between members, whatever the diagonal and the comparisons above have left there.
    for p in range(first, last):
        _absorb(row, component, path[p], name)


@kernel
def _edmonds(scores, single, heads):
    """Best tree by contraction; False if there is none. ``heads`` has each word's first choice."""
    size = scores.shape[0]
    top = 2 * size
    into = np.empty((size, size))
    entered = np.empty((size, size), np.int64)
    state = np.zeros((7, top), np.int64)
    slot, component, parent, chosen, modifier = state[0], state[1, :size], state[2], state[3], state[4]
    # place: 0 if not seen, otherwise the position on the path + 1, or -1 if joined to the root.
    path, place = state[5], state[6]
    place[0] = -1
    for m in range(1, size):
        slot[m] = m
        component[m] = m
        chosen[m] = heads[m]
        modifier[m] = m
    names = size
    for start in range(1, size):
        if place[component[start]] != 0:
            continue
        length = 0
        here = component[start]
        while place[here] == 0:
            path[length] = here
            length += 1
            place[here] = length
            if here >= size:
                head = _best_head(into[slot[here]], single)
                if head < 0:
                    return False
                chosen[here] = head
                modifier[here] = entered[slot[here], head]
            here = component[chosen[here]]
            if place[here] > 0:
                first = place[here] - 1
                for p in range(first, length):
                    parent[path[p]] = names
                _contract(scores, path, first, length, into, entered, slot, chosen, component, names)
                length = first
                here = names
                names += 1
        for p in range(length):
            place[path[p]] = -1
    # Newest first: a live component's arc enters one word, and settles all components around that word.
    settled = np.zeros(names, np.bool_)
    roots = 0
    for c in range(names - 1, 0, -1):
        if settled[c]:
            continue
        m = modifier[c]
        heads[m] = chosen[c]
        if chosen[c] == 0:
            roots += 1
        v = m
        while v != c:
            settled[v] = True
            v = parent[v]
    return not (single and roots > 1)


@kernel
def best_nonprojective_tree(scores, single, heads):
    """The tree with the highest sum of arc scores.

    Parameters
    ----------
    scores : float64 array, shape (n + 1, n + 1)
        Arc scores ``[head, modifier]``, n >= 1; no NaN or +inf off the diagonal and column 0. Not changed.
    single : bool
        Whether trees have exactly one root arc.
    heads : int64 array, shape (n + 1,)
        Overwritten with the heads; ``heads[0] = -1``. Undefined where there is no tree.

    Returns
    -------
    float
        Sum of the scores of the tree's arcs; -inf if there is no tree. O(n²).
    """
    heads[0] = -1
    if not _greedy(scores, single, heads):
        return -np.inf
    tree = _try_one_root(scores, heads) if single else _is_tree(heads)
    if not tree and not _edmonds(scores, single, heads):
        return -np.inf
    total = 0.0
    for m in range(1, scores.shape[0]):
        total += scores[heads[m], m]
    return total
