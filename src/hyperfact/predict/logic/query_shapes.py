"""The shapes of benchmark queries: those of StarQE, and of BetaE with union and negation."""

from collections.abc import Mapping

#: Name -> the query with letters for what is drawn: entities e, relations r; a fact of the graph
#: may be taken forwards or backwards, and with its qualifiers or without them.
SHAPES: Mapping[str, str] = {
    "1p": "?x : e1 | r1 | ?x",
    "2p": "?x : e1 | r1 | ?y and ?y | r2 | ?x",
    "3p": "?x : e1 | r1 | ?y and ?y | r2 | ?z and ?z | r3 | ?x",
    "2i": "?x : e1 | r1 | ?x and e2 | r2 | ?x",
    "3i": "?x : e1 | r1 | ?x and e2 | r2 | ?x and e3 | r3 | ?x",
    "2i-1p": "?x : e1 | r1 | ?y and e2 | r2 | ?y and ?y | r3 | ?x",
    "1p-2i": "?x : e1 | r1 | ?y and ?y | r2 | ?x and e2 | r3 | ?x",
    "2u": "?x : e1 | r1 | ?x or e2 | r2 | ?x",
    "up": "?x : (e1 | r1 | ?y or e2 | r2 | ?y) and ?y | r3 | ?x",
    "2in": "?x : e1 | r1 | ?x and not e2 | r2 | ?x",
    "3in": "?x : e1 | r1 | ?x and e2 | r2 | ?x and not e3 | r3 | ?x",
    "inp": "?x : e1 | r1 | ?y and not e2 | r2 | ?y and ?y | r3 | ?x",
    "pin": "?x : e1 | r1 | ?y and ?y | r2 | ?x and not e2 | r3 | ?x",
    "pni": "?x : e2 | r3 | ?x and not (e1 | r1 | ?y and ?y | r2 | ?x)",
}
#: What others call them.
ALIASES: Mapping[str, str] = {"ip": "2i-1p", "pi": "1p-2i"}
