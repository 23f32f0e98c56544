"""KGs as objects of other libraries: NetworkX, PyTorch Geometric and PyKEEN, all optional.

Each function says what it keeps. What keeps all has a function that brings the KG back.
"""

from importlib import import_module
from typing import Any

import numpy as np

from hyperfact.errors import DataError, MissingExtraError
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.kg import KG, Kind
from hyperfact.transforms.interchange.edge_table import Label, Node, Tables, kg_of, tables_of
from hyperfact.transforms.interchange.identifiers import (
    label_identifier,
    label_of,
    node_identifier,
    node_of,
)


def to_networkx(kg: KG) -> Any:
    """A `networkx.MultiDiGraph`; keeps everything, see `from_networkx`.

    Nodes are numbers with `type` and `name`; edges have `relation`, `kind` and `label`, the number
    of the line in the relation map `graph.graph["labels"]`.
    """
    nx = _library("networkx", "graph", "a NetworkX graph")
    kg, tables = kg.canonical(), tables_of(kg)
    graph = nx.MultiDiGraph(
        transformation=tables.transformation,
        mode=tables.mode,
        labels=[tuple(label) for label in tables.labels],
    )
    graph.add_nodes_from((i, {"type": n.type, "name": n.name}) for i, n in enumerate(tables.nodes))
    kinds = [Kind(k).name for k in kg.kind.tolist()]
    graph.add_edges_from(
        (s, o, {"relation": tables.labels[r].name, "kind": kind, "label": r})
        for (s, r, o), kind in zip(tables.triples.tolist(), kinds, strict=True)
    )
    return graph


def from_networkx(graph: Any) -> KG:
    """The KG of a graph that `to_networkx` made."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    try:
        nodes = tuple(Node(d["type"], d["name"]) for _, d in graph.nodes(data=True))
        rows = [(number[s], d["label"], number[o]) for s, o, d in graph.edges(data=True)]
        about = graph.graph
        labels = tuple(Label(*label) for label in about["labels"])
        mode = about["mode"], about["transformation"]
    except KeyError as error:
        raise DataError(f"the graph lacks the attribute {error}; was it made here?") from None
    triples = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return kg_of(Tables(nodes, labels, triples, mode[1], mode[0]))


_EDGE_COLUMNS = ("relation", "kind", "place")


def to_pyg(kg: KG) -> Any:
    """A `torch_geometric.data.Data`; keeps everything, see `from_pyg`.

    `edge_index` and `edge_type` are what PyG's relational layers take; `edge_relation`,
    `edge_kind`, `edge_place`, `mediator_relation` and the vocabularies ride along.
    """
    data = _library("torch_geometric.data", "pyg", "a PyG graph").Data(
        edge_index=_tensor(np.stack([kg.source, kg.target])),  # (2, edges)
        edge_type=_tensor(kg.edge_type),  # (edges,)
        num_nodes=kg.num_nodes,
    )
    for name in _EDGE_COLUMNS:
        setattr(data, f"edge_{name}", _tensor(getattr(kg, name)))
    data.mediator_relation = _tensor(kg.mediator_relation)
    _ride_along(data, kg)
    return data


def from_pyg(data: Any) -> KG:
    """The KG of a `Data` that `to_pyg` made."""
    source, target = data.edge_index.numpy()
    columns = [getattr(data, f"edge_{name}").numpy() for name in _EDGE_COLUMNS]
    return _kg(data, source, target, columns, data.mediator_relation.numpy())


def to_pyg_hetero(kg: KG) -> Any:
    """A `torch_geometric.data.HeteroData`; keeps everything, see `from_pyg_hetero`.

    Node types `entity` and `mediator`, whose numbers start at 0 again; an edge type for each kind,
    such as (`mediator`, `sub`, `entity`), with `edge_relation` and `edge_place`.
    """
    data = _library("torch_geometric.data", "pyg", "a PyG graph").HeteroData()
    n = kg.num_entities
    data["entity"].num_nodes = n
    data["mediator"].num_nodes = kg.num_mediators
    data["mediator"].relation = _tensor(kg.mediator_relation)
    for kind in Kind:
        at = np.flatnonzero(kg.kind == kind)
        if not len(at):
            continue
        start = "mediator" if kg.source[at[0]] >= n else "entity"
        shift = n if start == "mediator" else 0
        store = data[start, kind.name.lower(), "entity"]
        store.edge_index = _tensor(np.stack([kg.source[at] - shift, kg.target[at]]))
        store.edge_relation, store.edge_place = _tensor(kg.relation[at]), _tensor(kg.place[at])
    _ride_along(data, kg)
    return data


def from_pyg_hetero(data: Any) -> KG:
    """The KG of a `HeteroData` that `to_pyg_hetero` made."""
    n = int(data["entity"].num_nodes)
    parts: list[list[Any]] = [[] for _ in range(5)]
    for start, name, end in data.edge_types:
        store = data[start, name, end]
        source, target = store.edge_index.numpy()
        kinds = np.full(len(source), Kind[name.upper()])
        shift = n if start == "mediator" else 0
        columns = (source + shift, target, store.edge_relation.numpy(), kinds, store.edge_place)
        for part, column in zip(parts, columns, strict=True):
            part.append(np.asarray(column))
    empty = [np.zeros(0, dtype=np.int64)]
    source, target, *rest = (np.concatenate(part or empty) for part in parts)
    return _kg(data, source, target, rest, data["mediator"].relation.numpy())


def to_pykeen(kg: KG) -> Any:
    """A `pykeen.triples.TriplesFactory`; keeps all but the mark of derived relations.

    Mediators are entities named `urn:hyperfact:fact:HASH`, r^sub is `urn:hyperfact:sub:r`.
    """
    factory = _library("pykeen.triples", "pykeen", "a PyKEEN triples factory").TriplesFactory
    tables = tables_of(kg)
    return factory(
        mapped_triples=_tensor(tables.triples),  # (edges, 3)
        entity_to_id={node_identifier(node): i for i, node in enumerate(tables.nodes)},
        relation_to_id={label_identifier(label): i for i, label in enumerate(tables.labels)},
        create_inverse_triples=False,
        metadata={"transformation": tables.transformation, "mode": tables.mode},
    )


def from_pykeen(factory: Any) -> KG:
    """The KG of a factory that `to_pykeen` made."""
    nodes = sorted(factory.entity_to_id, key=factory.entity_to_id.__getitem__)
    labels = sorted(factory.relation_to_id, key=factory.relation_to_id.__getitem__)
    about = factory.metadata
    tables = Tables(
        tuple(map(node_of, nodes)),
        tuple(map(label_of, labels)),
        factory.mapped_triples.numpy(),
        about["transformation"],
        about["mode"],
    )
    return kg_of(tables)


def _library(module: str, extra: str, purpose: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(module.partition(".")[0], extra, purpose) from None


def _tensor(array: Any) -> Any:
    torch = import_module("torch")
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))


def _ride_along(data: Any, kg: KG) -> None:
    data.entity_names, data.relation_names = list(kg.entities), list(kg.relations)
    data.transformation, data.mode = kg.transformation, kg.mode or ""  # PyG drops None


def _kg(data: Any, source: Any, target: Any, columns: list[Any], mediators: Any) -> KG:
    relation, kind, place = columns
    return KG(
        Vocabulary(data.entity_names),
        Vocabulary(data.relation_names),
        source.astype(np.int32),
        relation.astype(np.int32),
        target.astype(np.int32),
        kind.astype(np.int8),
        place.astype(np.int32),
        mediators.astype(np.int32),
        np.full(len(mediators), -1, dtype=np.int64),
        data.transformation,
        data.mode or None,
    )
