"""KGs in and out: files of other tools, and objects of other libraries.

`KG_FORMATS` names the file formats. Adding one: a file beside this one, and a line in the table.

Order: edge_table, folders, identifiers, libkge, neo4j, objects, parquet_edges, rdf_edges, tsv.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hyperfact.errors import DataError, FormatError, UnknownNameError, UserError
from hyperfact.graph.kg import KG
from hyperfact.system.writing import staged, staged_file
from hyperfact.transforms.interchange.edge_table import Tables, kg_of, tables_of
from hyperfact.transforms.interchange.libkge import read_libkge, write_libkge
from hyperfact.transforms.interchange.neo4j import read_neo4j, write_neo4j
from hyperfact.transforms.interchange.objects import (
    from_networkx,
    from_pyg,
    from_pyg_hetero,
    from_pykeen,
    to_networkx,
    to_pyg,
    to_pyg_hetero,
    to_pykeen,
)
from hyperfact.transforms.interchange.parquet_edges import read_parquet, write_parquet
from hyperfact.transforms.interchange.rdf_edges import read_rdf, write_reified, write_reifiers
from hyperfact.transforms.interchange.tsv import read_tsv, write_tsv


@dataclass(frozen=True)
class KGFormat:
    """A file format of a KG."""

    name: str
    title: str
    keeps: str  # what `restore` gives back after a round trip
    mark: str  # the file in a folder, or the suffix of a file, by which it is known
    write: Callable[[KG, Path], None]
    read: Callable[[Path], Tables]

    @property
    def is_folder(self) -> bool:
        """Whether the format is a folder of files."""
        return not self.mark.startswith(".")


def _folder(write: Callable[[Tables, Path], None]) -> Callable[[KG, Path], None]:
    return lambda kg, path: write(tables_of(kg), path)


_ALL, _FACTS = "everything", "facts and the names in use"
_NAMES = "everything but the mark of derived relations"
_TABLE = (
    KGFormat("tsv", "triples of ids with id maps", _ALL, "nodes.tsv", _folder(write_tsv), read_tsv),
    KGFormat(
        "parquet", "Parquet tables", _ALL, "nodes.parquet", _folder(write_parquet), read_parquet
    ),
    KGFormat("neo4j", "CSV for neo4j-admin", _ALL, "nodes.csv", _folder(write_neo4j), read_neo4j),
    KGFormat(
        "libkge", "LibKGE dataset", _NAMES, "entity_ids.del", _folder(write_libkge), read_libkge
    ),
    KGFormat("reifiers", "N-Triples, RDF 1.2 reifiers", _FACTS, ".nt", write_reifiers, read_rdf),
    KGFormat("reified", "N-Triples, standard reification", _FACTS, ".nt", write_reified, read_rdf),
)

#: Every file format that `hyperfact transform --to` may name.
KG_FORMATS: Mapping[str, KGFormat] = {format.name: format for format in _TABLE}


def write_kg(kg: KG, path: str | Path, *, format: str | None = None) -> Path:
    """Write a KG, whole or not at all; the same facts in any order give the same bytes.

    Args:
        kg: The graph.
        path: A folder, or for RDF a file.
        format: A name of `KG_FORMATS`; `reifiers` for a path ending in `.nt`, else `tsv`.
    """
    path = Path(path)
    name = format or ("reifiers" if path.suffix == ".nt" else "tsv")
    if name not in KG_FORMATS:
        raise UnknownNameError("KG format", name, KG_FORMATS)
    chosen = KG_FORMATS[name]
    if chosen.is_folder and path.is_file():
        raise UserError(f"{path}: {name} is written to a folder, and this is a file")
    with staged(path) if chosen.is_folder else staged_file(path) as stage:
        chosen.write(kg, stage)
    return path


def read_kg(path: str | Path, *, format: str | None = None) -> KG:
    """Read a KG that `write_kg` wrote; its typed edges are had from the relation map."""
    path = Path(path)
    if format is not None and format not in KG_FORMATS:
        raise UnknownNameError("KG format", format, KG_FORMATS)
    chosen = KG_FORMATS[format] if format is not None else _recognise(path)
    try:
        return kg_of(chosen.read(path))
    except FormatError:
        raise
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except UnknownNameError as error:
        raise DataError(f"{path}: a role of a relation that is not there: {error}") from None


def _recognise(path: Path) -> KGFormat:
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    for format in _TABLE:
        if (path / format.mark).is_file() if format.is_folder else path.suffix == format.mark:
            return format
    marks = ", ".join(sorted({f.mark for f in _TABLE}))
    raise DataError(f"{path}: no exported KG; a folder has one of {marks}, a file ends in .nt")


__all__ = [
    "KG_FORMATS",
    "KGFormat",
    "from_networkx",
    "from_pyg",
    "from_pyg_hetero",
    "from_pykeen",
    "read_kg",
    "to_networkx",
    "to_pyg",
    "to_pyg_hetero",
    "to_pykeen",
    "write_kg",
]
