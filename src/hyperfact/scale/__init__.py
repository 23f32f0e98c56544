"""The same work on facts that memory does not hold: SQL over a dataset in parts.

Every result equals that of the in-memory path: the same fingerprints, the same certificate. What
is written here is SQL that DuckDB and Spark both run; an engine (`system.engine`) runs it.

Order: row_words, row_numbers, disk_facts, disk_edges, disk_parts, disk_restore, disk_rules,
disk_audit, disk_split, disk_stats, disk_verify, kg_files, disk_work, disk_training,
spool, dump.
"""

from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.scale.disk_verify import verify_on_disk

__all__ = ["DiskFacts", "verify_on_disk"]
