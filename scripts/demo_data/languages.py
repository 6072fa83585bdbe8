"""The toy languages of the demo treebanks: what makes each differ from the others."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Language:
    """What makes one language differ from another; see data/README.md."""

    seed: int
    onsets: str
    vowels: str
    codas: str
    order: str  # SVO, SOV, VSO, V2 (verb second, verb-final subclauses), free
    adjective_first: bool = True
    modifiers_first: bool = False  # relative clauses, genitives and adpositional phrases before their noun
    postpositions: bool = False
    function_heads: bool = True  # adpositions and subordinators head their phrases
    determiners: float = 0.0
    cases: dict[str, str] = field(default_factory=dict)  # case -> suffix; none: roles by order and adposition
    plural: str = ""
    agreement: bool = False  # adjectives show the case and number of their noun
    tenses: dict[str, str] = field(default_factory=dict)
    modal: float = 0.1
    moved: float = 0.0  # chance that a modifier leaves its noun phrase
    fronted: float = 0.0  # chance that a dependent of an infinitive stands before its finite verb
    split: float = 0.0  # chance that an adjective is fronted away from its noun
    several_roots: float = 0.0


ESTOL_CASES = {"nom": "", "acc": "on", "gen": "ar", "dat": "il", "loc": "es"}
FELNO_CASES = {"nom": "", "acc": "yu", "gen": "nin", "dat": "ka", "loc": "te", "ins": "le"}
LANGUAGES = {
    "avelu": Language(
        11, "v l n r s t p", "a e u", " n s", "SVO", determiners=0.6, moved=0.03, several_roots=0.04
    ),
    "borim": Language(
        22,
        "b r m d g k z",
        "i o a",
        " m r",
        "SOV",
        modifiers_first=True,
        postpositions=True,
        tenses={"fin": "im", "past": "or"},
        moved=0.35,
        split=0.03,
    ),
    "cadro": Language(
        33,
        "k d br dr f x t",
        "a o e",
        " d k sh",
        "VSO",
        adjective_first=False,
        determiners=0.45,
        plural="at",
        tenses={"perf": "", "impf": "ef"},
        moved=0.03,
        several_roots=0.15,
    ),
    "dunta": Language(
        44,
        "d n t w h st kl",
        "u a ee",
        " nt l k",
        "V2",
        determiners=0.6,
        plural="en",
        tenses={"pres": "t", "past": "de"},
        modal=0.5,
        moved=0.85,
        fronted=0.75,
        several_roots=0.07,
    ),
    "estol": Language(
        55,
        "s t l p m sk v",
        "e o i",
        " l st n",
        "free",
        function_heads=False,
        cases=ESTOL_CASES,
        plural="ik",
        agreement=True,
        tenses={"pres": "a", "past": "ul"},
        modal=0.02,
        moved=0.03,
        split=0.01,
        several_roots=0.08,
    ),
    "felno": Language(
        66,
        "f l n y ch g b",
        "e o a",
        " n y",
        "SOV",
        modifiers_first=True,
        postpositions=True,
        function_heads=False,
        cases=FELNO_CASES,
        plural="ler",
        tenses={"pres": "o", "past": "di"},
        modal=0.04,
        moved=0.04,
        several_roots=0.03,
    ),
}
