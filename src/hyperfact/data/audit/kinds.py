"""The catalogue of an audit: what is looked for, how bad it is, and why it matters."""

from collections.abc import Mapping
from dataclasses import dataclass

LEAK, WARNING, INFO, OK = "leak", "warning", "info", "ok"
#: From bad to good. A kind that found nothing is `ok`.
SEVERITIES = (LEAK, WARNING, INFO, OK)


@dataclass(frozen=True)
class Kind:
    """What one check looks for."""

    id: str
    severity: str  # when something is found
    title: str  # for a table
    sentence: str  # with {count}, {of}, {share} and {where}
    reason: str  # why it matters, for people


_KINDS = (
    Kind(
        "valid-is-test",
        LEAK,
        "valid and test are the same",
        "{count} of {of} facts ({share}) stand in both valid and test: they are one set.",
        "Choosing a model on valid then means choosing it on test.",
    ),
    Kind(
        "facts-in-two-splits",
        LEAK,
        "facts in two splits",
        "{count} of {of} facts ({share}) of the smaller of {where} stand in both.",
        "A model can recite such a fact; nothing has to be predicted.",
    ),
    Kind(
        "primary-in-train",
        LEAK,
        "primary triples in training",
        "{count} of {of} {where} facts ({share}) have a primary triple that training shows.",
        "Subject, relation and object were seen together: at most the qualifiers are new.",
    ),
    Kind(
        "primary-in-train-or-valid",
        LEAK,
        "primary triples in train or valid",
        "{count} of {of} {where} facts ({share}) have a primary triple of train or valid.",
        "Counts for protocols that train on valid once the settings are chosen.",
    ),
    Kind(
        "repeated-facts",
        WARNING,
        "repeated facts",
        "{count} of {of} rows ({share}) of {where} repeat an earlier one; reading dropped them.",
        "Other tools may keep them, so that counts and averages differ.",
    ),
    Kind(
        "repeated-qualifiers",
        WARNING,
        "repeated qualifiers",
        "{count} of {of} qualifiers ({share}) of {where} stand twice in their fact; "
        "reading dropped the second.",
        "The same pair says nothing new, and other tools may count it as another slot.",
    ),
    Kind(
        "facts-with-unseen-entity",
        WARNING,
        "facts with an unseen entity",
        "{count} of {of} {where} facts ({share}) hold an entity that training never shows.",
        "A model knows nothing of that entity; whether such facts are ranked changes the result.",
    ),
    Kind(
        "facts-with-unseen-relation",
        WARNING,
        "facts with an unseen relation",
        "{count} of {of} {where} facts ({share}) hold a relation or attribute that training "
        "never shows in that role.",
        "A model knows nothing of that relation; its score is noise.",
    ),
    Kind(
        "told-by-another-relation",
        WARNING,
        "told by an inverse or duplicate",
        "{count} of {of} {where} facts ({share}) follow from a training fact by an inverse, "
        "symmetric or duplicate relation.",
        "One rule answers them; FB15k and WN18 were replaced for this reason.",
    ),
    Kind(
        "unseen-entities",
        INFO,
        "entities unseen in training",
        "{count} of {of} entities ({share}) of {where} never stand in a training fact.",
        "These are the entities behind the facts with an unseen entity.",
    ),
    Kind(
        "unseen-relations",
        INFO,
        "relations unseen in training",
        "{count} of {of} relations and attributes ({share}) of {where} never stand in a "
        "training fact in that role.",
        "These are the relations behind the facts with an unseen relation.",
    ),
    Kind(
        "bare-twins",
        INFO,
        "bare twins of qualified facts",
        "{count} of {of} bare facts ({share}) of {where} have the primary triple of a "
        "qualified fact.",
        "Without a mediator of its own such a fact is lost in the equivalent graph (use the "
        "compact or literal mode).",
    ),
    Kind(
        "inverse-relations",
        INFO,
        "relations with an inverse",
        "{count} of {of} primary relations ({share}) are told backwards by another one.",
        "Where both directions are facts, a split should not separate them.",
    ),
    Kind(
        "symmetric-relations",
        INFO,
        "symmetric relations",
        "{count} of {of} primary relations ({share}) hold in both directions.",
        "A symmetric scorer such as DistMult gets these for free.",
    ),
    Kind(
        "duplicate-relations",
        INFO,
        "relations with a duplicate",
        "{count} of {of} primary relations ({share}) join pairs that another one joins too.",
        "The two may be one relation under two names.",
    ),
    Kind(
        "repeated-attributes",
        INFO,
        "attributes with several values",
        "{count} of {of} qualified facts ({share}) use one attribute for several values.",
        "Formats and models that keep one value for each attribute lose the others.",
    ),
    Kind(
        "value-is-subject-or-object",
        INFO,
        "value repeats subject or object",
        "{count} of {of} qualified facts ({share}) have a value that is their subject or object.",
        "Asked for one of the two, a model can copy the other.",
    ),
    Kind(
        "self-loops",
        INFO,
        "subject is object",
        "{count} of {of} facts ({share}) have the same subject and object.",
        "Sometimes meant, sometimes a slip of an export.",
    ),
    Kind(
        "qualifier-only-entities",
        INFO,
        "entities in qualifiers only",
        "{count} of {of} entities ({share}) stand in qualifiers only.",
        "They are candidates for subject and object too, though they never were one.",
    ),
    Kind(
        "literals",
        INFO,
        "literal values",
        "{count} of {of} entities ({share}) are literals: dates, quantities, texts.",
        "Ranked like entities unless they are dropped on reading (--literals drop).",
    ),
    Kind(
        "lookalike-names",
        INFO,
        "names that look alike",
        "{count} of {of} names ({share}) differ from another one only by case, space or "
        "Unicode form.",
        "They may be one thing under two names.",
    ),
)
#: Every kind of finding, by id.
KINDS: Mapping[str, Kind] = {kind.id: kind for kind in _KINDS}
