"""Studies: the tables and figures of the TransEQ paper, done again with one command each.

Order: cells, paper, recipes, plots, result_tables, study, complexity_study, newcomers_study,
trainings, tsne.
"""

from collections.abc import Mapping

from hyperfact.runs.studies.cells import Cell, Cells, Outcome
from hyperfact.runs.studies.complexity_study import Complexity
from hyperfact.runs.studies.newcomers_study import Newcomers
from hyperfact.runs.studies.study import Budget, Plan, Study, Workspace
from hyperfact.runs.studies.trainings import (
    Curves,
    Deviations,
    EncoderDecoder,
    Main,
    Sharing,
    Transformations,
)
from hyperfact.runs.studies.tsne import Tsne

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
        Newcomers(),
    )
}

__all__ = ["STUDIES", "Budget", "Cell", "Cells", "Outcome", "Plan", "Study", "Workspace"]
