"""A LibKGE dataset folder: `train.del`, `entity_ids.del`, `relation_ids.del`, `dataset.yaml`.

Keeps everything but the mark of derived relations: mediators and the roles r^sub and r^obj are
known by their reserved names, and `hyperfact.json` holds the mode. All triples are in the train
split; LibKGE wants valid and test files too, which are written empty.
"""

from pathlib import Path

from hyperfact.system.writing import write_lines
from hyperfact.transforms.interchange.edge_table import Tables
from hyperfact.transforms.interchange.folders import (
    check_number,
    read_about,
    read_rows,
    read_triples,
    write_about,
    write_rows,
)
from hyperfact.transforms.interchange.identifiers import (
    label_identifier,
    label_of,
    node_identifier,
    node_of,
)

_SPLITS = ("train", "valid", "test")
_IDS = ("entity_ids", "relation_ids")


def write_libkge(tables: Tables, folder: Path) -> None:
    """Write the folder."""
    write_about(folder, tables)
    write_rows(folder / "entity_ids.del", enumerate(map(node_identifier, tables.nodes)))
    write_rows(folder / "relation_ids.del", enumerate(map(label_identifier, tables.labels)))
    write_rows(folder / "train.del", tables.triples.tolist())
    for split in ("valid", "test"):
        write_rows(folder / f"{split}.del", ())
    write_lines(folder / "dataset.yaml", iter([_yaml(tables).removesuffix("\n")]))


def _yaml(tables: Tables) -> str:
    lines = ["dataset:"]
    for ids in _IDS:
        lines += [f"  files.{ids}.filename: {ids}.del", f"  files.{ids}.type: map"]
    for split in _SPLITS:
        size = len(tables.triples) if split == "train" else 0
        lines += [
            f"  files.{split}.filename: {split}.del",
            f"  files.{split}.size: {size}",
            f"  files.{split}.split_type: {split}",
            f"  files.{split}.type: triples",
        ]
    lines += ["  name: hyperfact"]
    lines += [f"  num_entities: {len(tables.nodes)}", f"  num_relations: {len(tables.labels)}"]
    return "\n".join(lines) + "\n"


def read_libkge(folder: Path) -> Tables:
    """Read the folder back; `dataset.yaml` is not needed for that."""
    transformation, mode = read_about(folder)
    names: dict[str, list[str]] = {}
    for ids in _IDS:
        path = folder / f"{ids}.del"
        found = names[ids] = []
        for line, (number, name) in read_rows(path, fields=2):
            check_number(path, line, number, len(found))
            found.append(name)
    nodes, labels = (names[ids] for ids in _IDS)
    triples = read_triples(folder / "train.del")
    return Tables(
        tuple(map(node_of, nodes)), tuple(map(label_of, labels)), triples, transformation, mode
    )
