"""A folder that a model hub takes: the run itself, a model card, and its embeddings.

README.md                      the model card
config.toml, weights.safetensors, …, manifest.json, cache/    the run; `Predictor.load` reads it
embeddings/entities.npy        float vectors, row i belongs to line i of entities.jsonl
embeddings/entities.parquet    name, kind, vector
embeddings/relations.npy, relations.parquet
index/entities.usearch         with `index`
scorer.pt2                     with `scorer`
"""

import json
from pathlib import Path

import numpy as np
from torch import Tensor

from hyperfact.errors import StorageError, UserError
from hyperfact.graph.facts import Literal, Vocabulary
from hyperfact.graph.ragged import Array
from hyperfact.predict.cache import FOLDER
from hyperfact.predict.export.card import model_card
from hyperfact.predict.export.scorer import export_scorer
from hyperfact.predict.export.search import export_index
from hyperfact.predict.predictor import Predictor
from hyperfact.runs.artifacts import ADDED, MANIFEST, RunWriter, Stored
from hyperfact.runs.ensemble_members import is_ensemble
from hyperfact.system.tables import database
from hyperfact.system.writing import copy_file, staged, write_lines

_REWRITTEN = ("format", "files", "added")  # in the manifest


def export_run(
    predictor: Predictor,
    out: Path,
    *,
    index: bool = False,
    scorer: bool = False,
    force: bool = False,
) -> list[Path]:
    """Write the folder, all of it or nothing.

    Args:
        predictor: Loaded from a run directory.
        out: A new or empty folder.
        index: Also an index for vector search (needs usearch).
        scorer: Also the scorer as a torch program, if that can be exact.
        force: Into a folder that holds something, over files of the same name.

    Returns:
        Every file written.
    """
    run = predictor.path
    if run is None or predictor.stored is None:
        raise UserError("only a stored run can be exported: train with --out")
    if is_ensemble(predictor.config):
        raise UserError(f"{run}: an ensemble has no weights of its own; export its members")
    if not force and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: exists already; an export needs a folder of its own")
    with staged(out) as stage:
        copy_run(predictor.stored, stage)
        copy_file(run / MANIFEST, stage / MANIFEST)
        write_lines(stage / "README.md", iter([model_card(predictor).rstrip("\n")]))
        z = predictor.scorer.z
        write_embeddings(stage / "embeddings", "entities", predictor.entities, z.entities)
        write_embeddings(stage / "embeddings", "relations", predictor.relations, z.relations)
        if index:
            export_index(predictor, stage / "index" / "entities.usearch")
        if scorer:
            export_scorer(predictor, stage / "scorer.pt2")
    return sorted(path for path in out.rglob("*") if path.is_file())


def copy_run(stored: Stored, target: Path) -> None:
    """Every file of a run and of its cache into a folder, but for the manifest."""
    for name in stored.manifest["files"]:
        copy_file(stored.path / name, target / name)
    for file in sorted((stored.path / FOLDER).glob("*.*")):
        copy_file(file, target / FOLDER / file.name)


def store_with_added(predictor: Predictor, out: Path) -> None:
    """Write a run directory with the same weights that also knows what was added.

    Args:
        predictor: Loaded from a run directory, with facts added.
        out: A new or empty directory.
    """
    stored = predictor.stored
    if stored is None:
        raise UserError("facts are added to a stored run: train with --out")
    if is_ensemble(predictor.config):
        raise UserError(f"{stored.path}: an ensemble is not stored with added facts; give --with")
    writer = RunWriter(out)
    copy_run(stored, out)
    facts = sorted(map(str, predictor.added))
    writer.lines(ADDED, map(json.dumps, facts))
    about = {key: value for key, value in stored.manifest.items() if key not in _REWRITTEN}
    writer.finish({**about, "added": len(facts)})


def write_embeddings(folder: Path, name: str, names: Vocabulary, vectors: Tensor) -> None:
    """Vectors as NumPy (no pickle) and as Parquet with their names."""
    folder.mkdir(exist_ok=True)
    table = vectors.detach().float().numpy()  # (names, dim)
    np.save(folder / f"{name}.npy", table)
    kinds = np.array(["literal" if isinstance(n, Literal) else "name" for n in names], dtype=object)
    columns: dict[str, Array] = {
        "name": np.array([str(n) for n in names], dtype=object),
        "kind": kinds,
        **{f"x{i}": np.ascontiguousarray(table[:, i]) for i in range(table.shape[1])},
    }
    vector = ", ".join(f"x{i}" for i in range(table.shape[1]))
    path = str(folder / f"{name}.parquet").replace("'", "''")
    with database(lambda why: StorageError(f"{folder}: {why}"), threads=1) as db:
        db.register("columns", columns)
        db.execute(
            f"COPY (SELECT name, kind, [{vector}]::FLOAT[] AS vector FROM columns) "
            f"TO '{path}' (FORMAT parquet, COMPRESSION zstd)"
        )
