"""The grammar behind the demo treebanks: random sentences with their trees, in CoNLL-X columns."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from languages import Language

TAG_NOISE = 0.025
HEAD_NOISE = 0.03
# The coarse tag that a wrong tag has in place of the right one.
CONFUSED = dict(zip("NAVRDPECMI", "ANNAPDRRAR", strict=True))
# Words of each kind: nouns, verbs (intransitive, transitive, with a clause, modal), adjectives, adverbs,
# names, adpositions, determiners, conjunctions, subordinators, pronouns, relative pronouns, interjections.
LEXICON = {"N": 170, "V": 48, "T": 48, "S": 8, "m": 4, "A": 60, "R": 20, "Np": 50, "E": 7, "Da": 3}
LEXICON |= {"Cc": 2, "Cs": 2, "Pp": 5, "Pr": 2, "I": 4}


@dataclass(eq=False)
class Word:
    """One token; ``head`` is another Word, or None for the root."""

    form: str
    lemma: str
    coarse: str
    fine: str
    feats: str = "_"
    head: Word | None = None
    relation: str = "ROOT"

    def under(self, head: Word | None, relation: str) -> Word:
        self.head, self.relation = head, relation
        return self


@dataclass
class Phrase:
    """Words in order around a head, and a modifier of it that may still leave its place."""

    head: Word
    words: list[Word]
    loose: list[Word] = field(default_factory=list)


class Grammar:
    """Sentences of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.random = random.Random(language.seed).random
        self.taken: set[str] = set()
        self.stems = {kind: [self._stem(kind) for _ in range(size)] for kind, size in LEXICON.items()}
        for kind, every in (("V", 9), ("A", 7), ("R", 8)):  # homographs: the form of a noun, another tag
            for number in range(3, len(self.stems[kind]), every):
                self.stems[kind][number] = self.stems["N"][2 * number + 1]
        # How often a phrase with this adposition belongs to the noun beside it rather than to the verb.
        self.noun_bound = dict(zip(self.stems["E"], (0.9, 0.2, 0.75, 0.1, 0.5, 0.85, 0.3), strict=True))

    def _stem(self, kind: str) -> str:
        language, least = self.language, 1 if kind in ("E", "Da", "Cc", "Cs", "Pp", "Pr", "m", "I") else 2
        while True:
            count = least + (self.chance(0.4) if least > 1 else 0)
            parts = [
                self.pick(language.onsets.split()) + self.pick(language.vowels.split()) for _ in range(count)
            ]
            stem = "".join(parts) + self.pick(language.codas.split(" "))
            stem = stem.capitalize() if kind == "Np" else stem
            if stem not in self.taken:
                self.taken.add(stem)
                return stem

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, items):
        return items[int(self.random() * len(items))]

    def frequent(self, kind: str) -> str:
        """A stem, the first ones more often."""
        draw = self.random()
        return self.stems[kind][int(draw * draw * len(self.stems[kind]))]

    def shuffle(self, items: list) -> None:
        for last in range(len(items) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            items[last], items[other] = items[other], items[last]

    # Words.

    def nominal(self, stem: str, coarse: str, fine: str, case: str, number: str) -> Word:
        language, form, feats = self.language, stem, []
        if language.plural:
            form += language.plural if number == "pl" else ""
            feats.append(f"num={number}")
        if language.cases:
            form += language.cases[case]
            feats.insert(0, f"case={case}")
        return Word(form, stem, coarse, fine, "|".join(feats) or "_")

    def verb(self, stem: str, number: str = "sg", finite: bool = True) -> Word:
        language = self.language
        if not finite:
            return Word(stem + ("n" if language.tenses else ""), stem, "V", "Vi", "_")
        if not language.tenses:
            return Word(stem, stem, "V", "Vf", "_")
        tense = self.pick(list(language.tenses))
        feats = f"tense={tense}" + (f"|num={number}" if language.plural else "")
        ending = language.tenses[tense] + (language.plural[:1] if number == "pl" else "")
        return Word(stem + ending, stem, "V", "Vf", feats)

    # Phrases.

    def join(self, phrase: Phrase, moved: list[list[Word]] | None = None, factor: float = 1.0) -> list[Word]:
        """The words of a phrase; its loose modifier beside it, or put into `moved` by chance."""
        if phrase.loose and moved is not None and self.chance(self.language.moved * factor):
            moved.append(phrase.loose)
            return phrase.words
        if self.language.modifiers_first:
            return phrase.loose + phrase.words
        return phrase.words + phrase.loose

    def noun_phrase(self, case: str, depth: int) -> tuple[Phrase, str]:
        """A noun phrase and its number."""
        language, draw = self.language, self.random()
        number = "pl" if self.chance(0.3) else "sg"
        if draw < 0.14:
            stem = self.frequent("Pp")
            head = self.nominal(stem, "P", "Pp", case, number)
            return Phrase(head, [head]), number
        if draw < 0.27:
            head = self.nominal(self.frequent("Np"), "N", "Np", case, "sg")
            return Phrase(head, [head]), "sg"
        head = self.nominal(self.frequent("N"), "N", "Nc", case, number)
        before: list[Word] = []
        after: list[Word] = []
        if self.chance(language.determiners):
            stem = self.frequent("Da")
            before.append(Word(stem, stem, "D", "Da").under(head, "det"))
        if self.chance(0.06):
            digits = str(2 + int(self.random() * 98))
            before.append(Word(digits, digits, "M", "M").under(head, "num"))
        for probability in (0.32, 0.12):
            if self.chance(probability):
                stem = self.frequent("A")
                word = Word(stem, stem, "A", "A")
                if language.agreement:
                    word = self.nominal(stem, "A", "A", case, number)
                (before if language.adjective_first else after).append(word.under(head, "attr"))
        phrase = Phrase(head, [*before, head, *after])
        draw = self.random() + 0.25 * depth
        if draw < 0.10:
            inner, _ = self.noun_phrase("gen", depth + 2)
            inner.head.under(head, "gen")
            phrase.loose = self.join(inner)
        elif draw < 0.22:
            phrase.loose = self.adpositional(head, "mod", self.frequent("E"), depth + 2)
        elif draw < 0.32:
            phrase.loose = self.clause(depth + 2, head, "rel", subordinator="Pr")
        if self.chance(0.11 - 0.03 * depth):
            self.coordinate(phrase, case, depth)
        return phrase, number

    def coordinate(self, phrase: Phrase, case: str, depth: int) -> None:
        """Add a conjunct, to the head or to a noun inside its modifier: only the words' habits tell which."""
        other, _ = self.noun_phrase(case, depth + 3)
        inside = [word for word in phrase.loose if word.fine == "Nc"]
        low = inside and not self.language.modifiers_first and self.chance(0.55)
        anchor = inside[-1] if low else phrase.head
        stem = self.frequent("Cc")
        added = [Word(stem, stem, "C", "Cc").under(anchor, "cc"), *self.join(other)]
        other.head.under(anchor, "conj")
        if phrase.loose and not self.language.modifiers_first:
            phrase.loose = phrase.loose + added
        else:
            phrase.words = phrase.words + added

    def adpositional(self, head: Word, relation: str, stem: str, depth: int) -> list[Word]:
        language = self.language
        case = "loc" if self.chance(0.7) else "dat"
        inner, _ = self.noun_phrase(case, depth)
        adposition = Word(stem, stem, "E", "E")
        if language.function_heads:
            adposition.under(head, relation)
            inner.head.under(adposition, "pobj")
        else:
            inner.head.under(head, relation)
            adposition.under(inner.head, "case")
        words = self.join(inner)
        return [*words, adposition] if language.postpositions else [adposition, *words]

    def clause(self, depth: int, head: Word | None, relation: str, subordinator: str = "") -> list[Word]:
        """The words of a clause; its verb (or its subordinator) hangs on `head`."""
        language, draw = self.language, self.random()
        kind = "S" if draw < 0.09 and depth < 2 else ("V" if draw < 0.42 else "T")
        modal = self.chance(language.modal)
        subject, number = self.noun_phrase("nom", depth)
        finite = self.verb(self.frequent("m" if modal else kind), number)
        verb = self.verb(self.frequent(kind), finite=False).under(finite, "inf") if modal else finite
        subject.head.under(finite, "sbj")
        moved: list[list[Word]] = []
        parts: dict[str, list[Word]] = {}
        if subordinator != "Pr" or self.chance(0.4):  # most relative clauses lack their subject
            parts["S"] = self.join(subject, moved, 0.7)
        if kind == "T":
            target, _ = self.noun_phrase("acc", depth)
            target.head.under(verb, "obj")
            bound = not target.loose and self.chance(0.35)
            if bound:
                stem = self.frequent("E")
                lean = self.noun_bound[stem] + (0.1 if len(verb.lemma) > 5 else -0.1)
                if self.chance(lean):
                    target.loose = self.adpositional(target.head, "mod", stem, depth + 2)
                    parts["O"] = self.join(target, moved)
                else:
                    phrase = Phrase(verb, target.words, self.adpositional(verb, "adv", stem, depth + 2))
                    parts["O"] = self.join(phrase)
            else:
                parts["O"] = self.join(target, moved)
            if self.chance(0.12):
                receiver, _ = self.noun_phrase("dat", depth + 1)
                receiver.head.under(verb, "iobj")
                parts["D"] = self.join(receiver)
        if kind == "S":
            parts["C"] = self.clause(depth + 1, verb, "comp", subordinator="Cs")
        if self.chance(0.38 - 0.1 * depth):
            parts["P"] = self.adpositional(verb, "adv", self.frequent("E"), depth + 1)
        if self.chance(0.22):
            stem = self.frequent("R")
            parts["A"] = [Word(stem, stem, "R", "R").under(self.pick([verb, finite]), "adv")]
        words = self.arrange(parts, finite, verb, bool(subordinator))
        for piece in moved:
            words = piece + words if language.modifiers_first else words + piece
        adjectives = [word for word in words if word.relation == "attr" and word.head in words]
        if adjectives and self.chance(language.split):
            word = self.pick(adjectives)
            words.remove(word)
            words.insert(0, word)
        return self.subordinate(words, finite, head, relation, subordinator)

    def subordinate(
        self, words: list[Word], finite: Word, head: Word | None, relation: str, subordinator: str
    ) -> list[Word]:
        language = self.language
        if not subordinator or (subordinator == "Pr" and language.modifiers_first):
            finite.under(head, relation)
            return words
        stem = self.frequent(subordinator)
        mark = Word(stem, stem, subordinator[0], subordinator)
        if language.function_heads:
            mark.under(head, relation)
            finite.under(mark, "body")
        else:
            finite.under(head, relation)
            mark.under(finite, "mark")
        return [*words, mark] if language.modifiers_first else [mark, *words]

    def arrange(self, parts: dict[str, list[Word]], finite: Word, verb: Word, inside: bool) -> list[Word]:
        """Put Subject, Object, Dative, Phrase, Adverb and Clause in the language's order."""
        order = self.language.order
        verbs = [finite] if finite is verb else [finite, verb]
        keys = {
            "SVO": "S+DOPAC" if self.chance(0.8) else "PAS+DOC",
            "SOV": "SPADOC+" if self.chance(0.65) else "PSACDO+",
            "VSO": "fSvDOPAC" if self.chance(0.85) else "S+ADOPC",
        }.get(order)
        if keys:
            verbs = verbs[::-1] if order == "SOV" else verbs
        elif order == "V2":
            middle = [key for key in "SADPO" if key in parts]
            if inside:
                keys = "".join(middle) + "+C"
            else:
                first = self.pick(middle) if middle and self.chance(0.45) else "S"
                if finite is not verb and not self.chance(self.language.fronted):
                    first = "S"
                rest = "".join(key for key in middle if key != first)
                keys = f"{first}f{rest}vC"
        else:
            free = [key for key in "SOPAD" if key in parts]
            self.shuffle(free)
            cut = int(self.random() * (len(free) + 1))
            keys = "".join(free[:cut]) + "+" + "".join(free[cut:]) + "C"
        parts = parts | {"+": verbs, "f": [finite], "v": [] if verb is finite else [verb]}
        return [word for key in keys for word in parts.get(key, [])]

    # Sentences.

    def sentence(self) -> list[Word]:
        words = self.clause(0, None, "ROOT")
        main = next(word for word in words if word.head is None)
        draw, several = self.random(), self.chance(self.language.several_roots)
        if several and draw < 0.5:
            stem = self.frequent("I")
            words = [Word(stem, stem, "I", "I"), Word(",", ",", "F", "Fc").under(main, "punct"), *words]
        elif several or draw < 0.06:
            other = self.clause(1, None if several else main, "ROOT" if several else "conj")
            second = next(word for word in other if word.head is None or word.head is main)
            stem = self.frequent("Cc")
            joint = [] if several else [Word(stem, stem, "C", "Cc").under(main, "cc")]
            words = [*words, Word(",", ",", "F", "Fc").under(main, "punct"), *joint, *other]
            main = second if several else main
        mark = "?" if self.chance(0.06) else "."
        words.append(Word(mark, mark, "F", "Fs").under(main, "punct"))
        first = words[0]
        first.form = first.form[:1].upper() + first.form[1:]
        return words

    def noisy(self, words: list[Word]) -> list[int]:
        """Heads by number after some wrong attachments; some tags are made wrong on the way."""
        place = {id(word): number for number, word in enumerate(words, 1)}
        heads = [-1] + [place[id(word.head)] if word.head else 0 for word in words]
        for number, word in enumerate(words, 1):
            if self.chance(TAG_NOISE) and word.coarse in CONFUSED:
                word.coarse = CONFUSED[word.coarse]
                word.fine, word.feats = {"N": "Nc", "P": "Pp", "D": "Da"}.get(word.coarse, word.coarse), "_"
            if not self.chance(HEAD_NOISE) or heads[number] == 0:
                continue
            above = heads[heads[number]]
            near = [word for word in range(1, len(heads)) if word != number and heads[word] == heads[number]]
            near += [above] if above else []
            other = self.pick(near) if near else heads[number]
            tried = [*heads[:number], other, *heads[number + 1 :]]
            if len(crossing_arcs(tried)) <= len(crossing_arcs(heads)):
                heads = tried
        return heads

    def lines(self) -> str:
        """One more sentence in CoNLL-X columns, 4 to 28 words long."""
        while True:
            words = self.sentence()
            if 4 <= len(words) <= 28:
                break
        heads = self.noisy(words)
        return "".join(
            f"{number}\t{word.form}\t{word.lemma}\t{word.coarse}\t{word.fine}\t{word.feats}"
            f"\t{heads[number]}\t{word.relation}\t_\t_\n"
            for number, word in enumerate(words, 1)
        )


def crossing_arcs(heads: list[int]) -> list[int]:
    """Words whose arc spans a word that is not below the arc's head."""
    found = []
    for word in range(1, len(heads)):
        head = heads[word]
        for between in range(min(head, word) + 1, max(head, word)):
            while between not in (head, 0):
                between = heads[between]
            if between != head:
                found.append(word)
                break
    return found
