"""Transformations that give a fact a mediator: equivalent, no_distinction, plain."""

import numpy as np

from hyperfact.errors import UnknownNameError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG, Kind
from hyperfact.graph.ragged import Ids, owners_of
from hyperfact.transforms.edge_blocks import Block, Mask, Triples, assemble

#: How `equivalent` treats facts without qualifiers. See docs/concepts/lossless.md.
MODES = ("compact", "literal", "paper-text")


def equivalent(hkg: HKG, mode: str = "compact") -> KG:
    """Algorithm 1 of the paper: s -r-> o, b -r^sub-> s, b -r^obj-> o, and b -a_i-> v_i.

    Args:
        hkg: The facts to transform.
        mode: `compact` gives a mediator to each qualified fact and to a bare fact whose primary
            triple a qualified fact has too; `literal` gives one to every fact; `paper-text` to
            qualified facts only, and so loses the bare twins.
    """
    if mode not in MODES:
        raise UnknownNameError("mode", mode, MODES)
    triples = Triples.of(hkg.columns)
    qualified = hkg.num_qualifiers > 0
    mediated = qualified
    if mode == "literal":
        mediated = np.ones(len(hkg), dtype=bool)
    elif mode == "compact":
        mediated = triples.any(qualified)[triples.of_fact]
    return _with_roles(hkg, mediated, [triples.base()], transformation="equivalent", mode=mode)


def no_distinction(hkg: HKG) -> KG:
    """The equivalent transformation without the base edge of qualified facts (table 5, w/o)."""
    qualified = hkg.num_qualifiers > 0
    return _with_roles(
        hkg, qualified, [_bare(hkg, ~qualified)], transformation="no_distinction", mode=None
    )


def plain(hkg: HKG) -> KG:
    """Star expansion without attributes: b -r-> x for every entity x of a qualified fact."""
    c = hkg.columns
    qualified = hkg.num_qualifiers > 0
    rows = np.flatnonzero(qualified)
    mediator = _mediator_of(hkg, qualified)
    owner = np.concatenate([rows, rows, owners_of(c.offsets)])
    member = np.concatenate([c.subject[rows], c.object[rows], c.values])
    # A star joins an entity once, whatever its parts; sorted keys tell, quicker than `distinct`.
    size = max(1, len(hkg.entities))
    key = np.sort(owner * size + member)
    key = key[np.diff(key, prepend=-1) != 0]
    owner, member = np.divmod(key, size)
    star = Block(
        Kind.MEMBER, mediator[owner], c.relation[owner], member, owner, np.arange(len(owner))
    )
    blocks = [_bare(hkg, ~qualified), star]
    return assemble(hkg, blocks, mediators=rows, transformation="plain", mode=None)


def twins(hkg: HKG) -> Mask:
    """Facts without qualifiers whose primary triple a qualified fact has too."""  # (facts,)
    qualified = hkg.num_qualifiers > 0
    triples = Triples.of(hkg.columns)
    found: Mask = ~qualified & triples.any(qualified)[triples.of_fact]
    return found


def _with_roles(
    hkg: HKG, mediated: Mask, base: list[Block], *, transformation: str, mode: str | None
) -> KG:
    c = hkg.columns
    rows = np.flatnonzero(mediated)
    mediator = _mediator_of(hkg, mediated)
    owner = owners_of(c.offsets)
    own = np.arange(len(rows))
    nodes, relation = mediator[rows], c.relation[rows]
    blocks = [
        *base,
        Block(Kind.SUB, nodes, relation, c.subject[rows], rows, own),
        Block(Kind.OBJ, nodes, relation, c.object[rows], rows, own),
        Block(
            Kind.QUALIFIER, mediator[owner], c.attributes, c.values, owner, np.arange(len(owner))
        ),
    ]
    return assemble(hkg, blocks, mediators=rows, transformation=transformation, mode=mode)


def _mediator_of(hkg: HKG, mediated: Mask) -> Ids:
    """The node of each fact's mediator; meaningless where a fact has none."""  # (facts,)
    return (len(hkg.entities) - 1 + np.cumsum(mediated)).astype(np.int32)


def _bare(hkg: HKG, bare: Mask) -> Block:
    """The triples of facts without qualifiers, kept as they are."""
    c, rows = hkg.columns, np.flatnonzero(bare)
    return Block(
        Kind.BASE, c.subject[rows], c.relation[rows], c.object[rows], rows, np.arange(len(rows))
    )
