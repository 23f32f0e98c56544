"""An index for vector search over the entities (usearch, optional)."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from hyperfact.errors import MissingExtraError
from hyperfact.predict.predictor import Predictor


def export_index(predictor: Predictor, path: Path) -> Path:
    """An HNSW index by cosine; the key of a vector is the id of its entity.

    Raises:
        MissingExtraError: usearch is not installed.
    """
    index = _new(len(predictor.scorer.z.entities[0]))
    vectors = predictor.scorer.z.entities.detach().float().numpy()  # (entities, dim)
    index.add(np.arange(len(vectors), dtype=np.uint64), vectors)
    path.parent.mkdir(parents=True, exist_ok=True)
    index.save(str(path))
    return path


def _new(dim: int) -> Any:
    try:
        usearch: Any = import_module("usearch.index")
    except ImportError as error:
        raise MissingExtraError("usearch", "search", "an index for vector search") from error
    return usearch.Index(ndim=dim, metric="cos", dtype="f32")
