"""Files that can be trusted: written whole or not at all, read only when they are what they say."""

from hyperfact.storage.lock import LOCK, RunLock, owner_of
from hyperfact.storage.reading import check_name, parse_json, read_checked, read_inside
from hyperfact.storage.tables import read_table, write_table
from hyperfact.storage.writing import remove_leftovers, sha256, sync_folder, write_atomically

__all__ = [
    "LOCK",
    "RunLock",
    "check_name",
    "owner_of",
    "parse_json",
    "read_checked",
    "read_inside",
    "read_table",
    "remove_leftovers",
    "sha256",
    "sync_folder",
    "write_atomically",
    "write_table",
]
