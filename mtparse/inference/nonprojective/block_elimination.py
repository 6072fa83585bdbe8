"""Eliminating four words of `matrix_tree`'s Markov chain at a time, and the way back.

Let the chain be at a word of the block. ``_leave`` gives, without a subtraction, the time N[p, q] that it
spends in q before it leaves the block, having started in p; with the rates out of the block this makes
``hops[p, j]``, the probability that the first word outside is j, and ``exits[p]``, that the root comes
first. Then

- eliminating the block is ``rate(i -> j) += sum_p rate(i -> p) * hops[p, j]``, and
- carrying K back to it is ``K[p, m] = exits[p] + sum_j hops[p, j] * K[j, m]``:

two products with a matrix of four rows. All widths are multiples of four, so that the vector loops have no
remainder. Cells of words that are gone, and of words to themselves (which the watched chain drops), collect
numbers that are never read.
"""

from __future__ import annotations

from mtparse.runtime.jit import inlined, kernel, summing_kernel

BLOCK = 4
# Masking tells the compiler that an index is not negative: without it every access asks whether the index
# counts from the end, and no loop is vectorised.
_NATURAL = 2**31 - 1


@inlined
def _add_rows(rates, row, hops, block, start, width, a, b, c, d):
    """``rates[row] += a * hops[block] + ... + d * hops[block + 3]``, in ``width`` cells."""
    start &= _NATURAL
    for t in range(width & _NATURAL):
        rates[row, start + t] += (a * hops[block, start + t] + b * hops[block + 1, start + t]) + (
            c * hops[block + 2, start + t] + d * hops[block + 3, start + t]
        )


@inlined
def _put_rows(rates, row, hops, block, start, width, a, b, c, d, target):
    """As `_add_rows`, with the result in row ``target``, which must be another one.

    (The compiler cannot use vector instructions for rows of which it does not know that they are the same.)
    """
    start &= _NATURAL
    for t in range(width & _NATURAL):
        rates[target, start + t] = rates[row, start + t] + (
            (a * hops[block, start + t] + b * hops[block + 1, start + t])
            + (c * hops[block + 2, start + t] + d * hops[block + 3, start + t])
        )


@inlined
def _mix_rows(rates, row, start, width, a, b, c, d, hops, target):
    """``hops[target] = a * rates[row] + ... + d * rates[row + 3]``, in ``width`` cells."""
    start &= _NATURAL
    for t in range(width & _NATURAL):
        hops[target, start + t] = (a * rates[row, start + t] + b * rates[row + 1, start + t]) + (
            c * rates[row + 2, start + t] + d * rates[row + 3, start + t]
        )


@inlined
def _leave(rates, row, block, out):
    """Times spent in a block by start and place, and the logarithm-free D of its words.

    Words are eliminated from the last to the first, then N follows column by column.

    Parameters
    ----------
    rates : float64 array
        Rows ``row .. row + 3``, columns ``block .. block + 3`` are the rates inside the block.
    out : four floats
        The rates of the four words out of the block, the root included.

    Returns
    -------
    n : four tuples of four floats
        ``n[p][q]``
    totals : four floats
        Total rate out of each word when it is eliminated.
    """
    out0, out1, out2, out3 = out
    r01, r02, r03 = rates[row, block + 1], rates[row, block + 2], rates[row, block + 3]
    r10, r12, r13 = rates[row + 1, block], rates[row + 1, block + 2], rates[row + 1, block + 3]
    r20, r21, r23 = rates[row + 2, block], rates[row + 2, block + 1], rates[row + 2, block + 3]
    r30, r31, r32 = rates[row + 3, block], rates[row + 3, block + 1], rates[row + 3, block + 2]
    total3 = out3 + ((r30 + r31) + r32)
    i3 = 1.0 / total3
    s03 = r03 * i3
    s13 = r13 * i3
    s23 = r23 * i3
    out0 += s03 * out3
    r01 += s03 * r31
    r02 += s03 * r32
    out1 += s13 * out3
    r10 += s13 * r30
    r12 += s13 * r32
    out2 += s23 * out3
    r20 += s23 * r30
    r21 += s23 * r31
    total2 = out2 + (r20 + r21)
    i2 = 1.0 / total2
    s02 = r02 * i2
    s12 = r12 * i2
    out0 += s02 * out2
    r01 += s02 * r21
    out1 += s12 * out2
    r10 += s12 * r20
    total1 = out1 + r10
    i1 = 1.0 / total1
    s01 = r01 * i1
    total0 = out0 + s01 * out1
    i0 = 1.0 / total0
    # Shares of the words eliminated first, with the ways through the others.
    s13 += s12 * s23
    s03 += s02 * s23 + s01 * s13
    s02 += s01 * s12
    n00 = i0
    n01 = s01 * i0
    n02 = s02 * i0
    n03 = s03 * i0
    n10 = (r10 * n00) * i1
    n11 = (1.0 + r10 * n01) * i1
    n12 = (s12 + r10 * n02) * i1
    n13 = (s13 + r10 * n03) * i1
    n20 = (r20 * n00 + r21 * n10) * i2
    n21 = (r20 * n01 + r21 * n11) * i2
    n22 = (1.0 + (r20 * n02 + r21 * n12)) * i2
    n23 = (s23 + (r20 * n03 + r21 * n13)) * i2
    n30 = (r30 * n00 + (r31 * n10 + r32 * n20)) * i3
    n31 = (r30 * n01 + (r31 * n11 + r32 * n21)) * i3
    n32 = (r30 * n02 + (r31 * n12 + r32 * n22)) * i3
    n33 = (1.0 + (r30 * n03 + (r31 * n13 + r32 * n23))) * i3
    n = ((n00, n01, n02, n03), (n10, n11, n12, n13), (n20, n21, n22, n23), (n30, n31, n32, n33))
    return n, (total0, total1, total2, total3)


@summing_kernel
def eliminate_block(rates, roots, source, target, start, stop, block, hops, exits, totals):
    """Eliminate the words ``block .. block + 3``; the words ``start .. stop - 1`` remain.

    Parameters
    ----------
    rates, roots : float64 arrays, shapes (rows, words), (rows,)
        Word i's rates to the other words and to the root are in row ``source + i``, and are put in row
        ``target + i``; the two may be the same.
    start, stop, block : int
        Multiples of four; the block is next to what remains. Nothing remains where start is stop.
    hops, exits, totals : float64 arrays, shapes (words, words), (words,), (words,)
        Rows of the block are overwritten; ``totals`` with the total rate out of each word when it goes.
    """
    width = (stop - start) & _NATURAL
    start &= _NATURAL
    row = source + block
    out0, out1, out2, out3 = 0.0, 0.0, 0.0, 0.0
    for t in range(width):
        out0 += rates[row, start + t]
        out1 += rates[row + 1, start + t]
        out2 += rates[row + 2, start + t]
        out3 += rates[row + 3, start + t]
    root0, root1, root2, root3 = roots[row], roots[row + 1], roots[row + 2], roots[row + 3]
    n, (total0, total1, total2, total3) = _leave(
        rates, row, block, (out0 + root0, out1 + root1, out2 + root2, out3 + root3)
    )
    n0, n1, n2, n3 = n
    totals[block] = total0
    totals[block + 1] = total1
    totals[block + 2] = total2
    totals[block + 3] = total3
    exit0 = (n0[0] * root0 + n0[1] * root1) + (n0[2] * root2 + n0[3] * root3)
    exit1 = (n1[0] * root0 + n1[1] * root1) + (n1[2] * root2 + n1[3] * root3)
    exit2 = (n2[0] * root0 + n2[1] * root1) + (n2[2] * root2 + n2[3] * root3)
    exit3 = (n3[0] * root0 + n3[1] * root1) + (n3[2] * root2 + n3[3] * root3)
    exits[block] = exit0
    exits[block + 1] = exit1
    exits[block + 2] = exit2
    exits[block + 3] = exit3
    _mix_rows(rates, row, start, width, n0[0], n0[1], n0[2], n0[3], hops, block)
    _mix_rows(rates, row, start, width, n1[0], n1[1], n1[2], n1[3], hops, block + 1)
    _mix_rows(rates, row, start, width, n2[0], n2[1], n2[2], n2[3], hops, block + 2)
    _mix_rows(rates, row, start, width, n3[0], n3[1], n3[2], n3[3], hops, block + 3)
    for i in range(start, stop):
        a = rates[source + i, block]
        b = rates[source + i, block + 1]
        c = rates[source + i, block + 2]
        d = rates[source + i, block + 3]
        roots[target + i] = roots[source + i] + ((a * exit0 + b * exit1) + (c * exit2 + d * exit3))
        if source == target:
            _add_rows(rates, source + i, hops, block, start, width, a, b, c, d)
        else:
            _put_rows(rates, source + i, hops, block, start, width, a, b, c, d, target + i)


@summing_kernel
def carry_back_block(hops, exits, start, stop, block, reach, kept, width):
    """K of a block's words for the targets ``kept .. kept + width - 1``.

    The words ``start .. stop - 1`` are those that remained when the block was eliminated; their K are in
    ``reach``.
    """
    width &= _NATURAL
    kept &= _NATURAL
    for p in range(block, block + BLOCK):
        first = exits[p]
        for t in range(width):
            reach[p, kept + t] = first
        for j in range(start, stop, BLOCK):
            a = hops[p, j]
            b = hops[p, j + 1]
            c = hops[p, j + 2]
            d = hops[p, j + 3]
            for t in range(width):
                reach[p, kept + t] += (a * reach[j, kept + t] + b * reach[j + 1, kept + t]) + (
                    c * reach[j + 2, kept + t] + d * reach[j + 3, kept + t]
                )


@summing_kernel
def solve_block(rates, roots, row, block, reach):
    """K among four words that are all there is; their rates are in rows ``row + block`` and following.

    All four targets side by side, one a lane: the words are eliminated from the last to the first, but the
    target is not, by a share of zero; ``t03`` and the like are what is then left of rates into the target.
    """
    row += block
    r01, r02, r03 = rates[row, block + 1], rates[row, block + 2], rates[row, block + 3]
    r10, r12, r13 = rates[row + 1, block], rates[row + 1, block + 2], rates[row + 1, block + 3]
    r20, r21, r23 = rates[row + 2, block], rates[row + 2, block + 1], rates[row + 2, block + 3]
    r30, r31, r32 = rates[row + 3, block], rates[row + 3, block + 1], rates[row + 3, block + 2]
    root0, root1, root2, root3 = roots[row], roots[row + 1], roots[row + 2], roots[row + 3]
    inverse3 = 1.0 / (root3 + ((r30 + r31) + r32))
    block &= _NATURAL
    for target in range(BLOCK):
        i3 = 0.0 if target == 3 else inverse3
        t03 = r03 if target == 3 else 0.0
        t13 = r13 if target == 3 else 0.0
        t23 = r23 if target == 3 else 0.0
        s03 = r03 * i3
        s13 = r13 * i3
        s23 = r23 * i3
        e0 = root0 + s03 * root3
        e1 = root1 + s13 * root3
        e2 = root2 + s23 * root3
        q01 = r01 + s03 * r31
        q02 = r02 + s03 * r32
        q10 = r10 + s13 * r30
        q12 = r12 + s13 * r32
        q20 = r20 + s23 * r30
        q21 = r21 + s23 * r31
        i2 = 1.0 / ((e2 + t23) + (q20 + q21))
        i2 = 0.0 if target == 2 else i2
        t02 = q02 if target == 2 else 0.0
        t12 = q12 if target == 2 else 0.0
        s02 = q02 * i2
        s12 = q12 * i2
        e0 += s02 * e2
        t03 += s02 * t23
        q01 += s02 * q21
        e1 += s12 * e2
        t13 += s12 * t23
        q10 += s12 * q20
        i1 = 1.0 / ((e1 + q10) + (t12 + t13))
        i1 = 0.0 if target == 1 else i1
        t01 = q01 if target == 1 else 0.0
        s01 = q01 * i1
        e0 += s01 * e1
        i0 = 1.0 / ((e0 + t01) + ((t02 + s01 * t12) + (t03 + s01 * t13)))
        i0 = 0.0 if target == 0 else i0
        k0 = e0 * i0
        k1 = (e1 + q10 * k0) * i1
        k2 = (e2 + (q20 * k0 + q21 * k1)) * i2
        reach[block, block + target] = k0
        reach[block + 1, block + target] = k1
        reach[block + 2, block + target] = k2
        reach[block + 3, block + target] = (root3 + (r30 * k0 + (r31 * k1 + r32 * k2))) * i3


@kernel
def padded(n):
    """The number of words, filled up to whole blocks."""
    return (n + BLOCK - 1) // BLOCK * BLOCK
