"""Filtered ranking that can be trusted: policy, ranks, metrics, slices, comparisons.

Order: bootstrap, policy, background, ranks, comparison, ranking, slices, number_errors,
number_guesses, result, evaluator, checks, foreign, predictions, baseline.
"""

from hyperfact.evaluation.background import Background, asked_facts
from hyperfact.evaluation.bootstrap import Interval
from hyperfact.evaluation.checks.contract import check_model
from hyperfact.evaluation.comparison import Comparison, Standing, align, compare, standings
from hyperfact.evaluation.evaluator import evaluate, evaluating, rank_with
from hyperfact.evaluation.foreign import GivenRanks, ScoredCandidates, judge
from hyperfact.evaluation.policy import Policy, Ties
from hyperfact.evaluation.ranking import Limits, Scorer
from hyperfact.evaluation.ranks import HITS, Metrics, Ranks, check_invariants
from hyperfact.evaluation.result import TIE_GAP, Evaluation
from hyperfact.evaluation.slices import SLICES

__all__ = [
    "HITS",
    "SLICES",
    "TIE_GAP",
    "Background",
    "Comparison",
    "Evaluation",
    "GivenRanks",
    "Interval",
    "Limits",
    "Metrics",
    "Policy",
    "Ranks",
    "ScoredCandidates",
    "Scorer",
    "Standing",
    "Ties",
    "align",
    "asked_facts",
    "check_invariants",
    "check_model",
    "compare",
    "evaluate",
    "evaluating",
    "judge",
    "rank_with",
    "standings",
]
