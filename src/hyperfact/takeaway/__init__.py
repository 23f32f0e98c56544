"""Take a run away: a folder for hubs, embeddings, a search index, the scorer, answers to a file."""

from hyperfact.takeaway.batch import BatchReport, answer_file
from hyperfact.takeaway.folder import export_run
from hyperfact.takeaway.scorer import export_scorer
from hyperfact.takeaway.search import export_index

__all__ = ["BatchReport", "answer_file", "export_index", "export_run", "export_scorer"]
