"""Studies: every table and figure of the TransEQ paper, done again with one command each."""

from collections.abc import Mapping

from hyperfact.studies.cells import Cell, Cells, Outcome
from hyperfact.studies.complexity import Complexity
from hyperfact.studies.study import Budget, Desk, Plan, Study
from hyperfact.studies.trainings import (
    Curves,
    Deviations,
    EncoderDecoder,
    Main,
    Sharing,
    Transformations,
)
from hyperfact.studies.tsne import Tsne

#: Every study a command may name. Adding one: a class, and a line here.
STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Main(),
        Transformations(),
        EncoderDecoder(),
        Sharing(),
        Tsne(),
        Curves(),
        Complexity(),
        Deviations(),
    )
}

__all__ = ["STUDIES", "Budget", "Cell", "Cells", "Desk", "Outcome", "Plan", "Study"]
