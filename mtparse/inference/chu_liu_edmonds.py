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

from mtparse._jit import kernel


@kernel
def _is_tree(heads, single):
    """Whether head choices without self-loops are a tree of the wanted family."""
    size = heads.shape[0]
    roots = 0
    for m in range(1, size):
        if heads[m] == 0:
            roots += 1
    if roots == 0 or (single and roots != 1):
        return False
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
def _greedy(scores, heads):
    """The best head of each word, lowest first; False if a word has none."""
    size = scores.shape[0]
    best = np.full(size, -np.inf)
    for m in range(1, size):
        heads[m] = -1
    for h in range(size):
        for m in range(1, size):
            if h != m and scores[h, m] > best[m]:
                best[m] = scores[h, m]
                heads[m] = h
    return not (heads[1:] < 0).any()


@kernel
def _best_head(row, single):
    """Index of the largest entry, lowest first; -1 if all are -inf. Single: 0 only as the last resort."""
    best = -np.inf
    head = -1
    for h in range(1, row.shape[0]):
        if row[h] > best:
            best = row[h]
            head = h
    if row[0] > -np.inf and row[0] >= best and (head < 0 or not single):
        head = 0
    return head


@kernel
def _contract(path, first, last, into, entered, slot, chosen, component, name):
    """Merge the components ``path[first:last]`` into component ``name``, in the rows of the first one."""
    size = into.shape[0]
    target = slot[path[first]]
    row = into[target]
    words = entered[target]
    offset = row[chosen[path[first]]]
    for h in range(size):
        row[h] -= offset
    for p in range(first + 1, last):
        other_slot = slot[path[p]]
        other = into[other_slot]
        other_words = entered[other_slot]
        offset = other[chosen[path[p]]]
        for h in range(size):
            value = other[h] - offset
            if value > row[h]:
                row[h] = value
                words[h] = other_words[h]
    slot[name] = target
    for h in range(1, size):
        for p in range(first, last):
            if component[h] == path[p]:
                component[h] = name
                break
        if component[h] == name:
            row[h] = -np.inf


@kernel
def _edmonds(scores, single, heads):
    """Best tree by contraction; False if there is none."""
    size = scores.shape[0]
    top = 2 * size
    into = np.empty((size, size))
    entered = np.empty((size, size), np.int32)
    for m in range(1, size):
        for h in range(size):
            into[m, h] = scores[h, m]
            entered[m, h] = m
        into[m, m] = -np.inf
    slot = np.arange(top)
    component = np.arange(size)
    parent = np.zeros(top, np.int64)
    chosen = np.zeros(top, np.int64)
    modifier = np.zeros(top, np.int64)
    # 0: not seen, otherwise position on the path + 1, or -1: joined to the root.
    place = np.zeros(top, np.int64)
    place[0] = -1
    path = np.empty(top, np.int64)
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
            row = into[slot[here]]
            head = _best_head(row, single)
            if head < 0:
                return False
            chosen[here] = head
            modifier[here] = entered[slot[here], head]
            here = component[head]
            if place[here] > 0:
                first = place[here] - 1
                for p in range(first, length):
                    parent[path[p]] = names
                _contract(path, first, length, into, entered, slot, chosen, component, names)
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
    if not _greedy(scores, heads):
        return -np.inf
    if not _is_tree(heads, single) and not _edmonds(scores, single, heads):
        return -np.inf
    total = 0.0
    for m in range(1, scores.shape[0]):
        total += scores[heads[m], m]
    return total
