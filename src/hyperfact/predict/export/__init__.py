"""Take a run away: a folder for hubs, embeddings, a search index, the scorer, answers to a file.

Order: batch, card, scorer, search, folder.
"""

from hyperfact.predict.export.batch import BatchReport, answer_file
from hyperfact.predict.export.folder import export_run, store_with_added
from hyperfact.predict.export.scorer import export_scorer
from hyperfact.predict.export.search import export_index

__all__ = [
    "BatchReport",
    "answer_file",
    "export_index",
    "export_run",
    "export_scorer",
    "store_with_added",
]
