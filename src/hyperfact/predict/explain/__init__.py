"""Why this answer, and what would change it: parts, supporting facts, paths, what-if.

An explanation describes the model, not the world, and describes it approximately: see
docs/concepts/explanations.md.

Order: counts, parts, paths, support, explanation, faithfulness.
"""

from hyperfact.predict.changes import Change, apply_changes, read_change
from hyperfact.predict.explain.counts import Count
from hyperfact.predict.explain.explanation import Explanation, explain
from hyperfact.predict.explain.faithfulness import Faithfulness, faithfulness
from hyperfact.predict.explain.parts import Part
from hyperfact.predict.explain.paths import Path, Step
from hyperfact.predict.explain.support import Support
from hyperfact.predict.whatif import RankMove, WhatIf, whatif

__all__ = [
    "Change",
    "Count",
    "Explanation",
    "Faithfulness",
    "Part",
    "Path",
    "RankMove",
    "Step",
    "Support",
    "WhatIf",
    "apply_changes",
    "explain",
    "faithfulness",
    "read_change",
    "whatif",
]
