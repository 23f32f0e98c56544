"""HKG to KG and back: the transformations of the paper, their inverse, and proof of what they keep.

`TRANSFORMS` names them all. Adding one: a function in `stars` or `cliques`, a line in `table`, and
what it loses in `loss`; the contract suite finds it by itself.

Order: edge_blocks, interchange, cliques, stars, readings, restore, table, further, complexity,
loss, certificate.
"""

from hyperfact.transforms.certificate import Certificate, verify
from hyperfact.transforms.cliques import clique_plain, clique_semantic
from hyperfact.transforms.loss import Loss, find_losses
from hyperfact.transforms.restore import REASONS, NotInImageError, restore, unite
from hyperfact.transforms.stars import MODES, equivalent, no_distinction, plain, twins
from hyperfact.transforms.table import TRANSFORMS, transform

__all__ = [
    "MODES",
    "REASONS",
    "TRANSFORMS",
    "Certificate",
    "Loss",
    "NotInImageError",
    "clique_plain",
    "clique_semantic",
    "equivalent",
    "find_losses",
    "no_distinction",
    "plain",
    "restore",
    "transform",
    "twins",
    "unite",
    "verify",
]
