"""Prefixes: an IRI as people abbreviate it, `wd:Q42`."""

import re
from collections.abc import Mapping

#: Prefixes that everybody knows; those that a file declares go before them.
PREFIXES: Mapping[str, str] = {
    "wd": "http://www.wikidata.org/entity/",
    "wds": "http://www.wikidata.org/entity/statement/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "wdtn": "http://www.wikidata.org/prop/direct-normalized/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
    "pr": "http://www.wikidata.org/prop/reference/",
    "wikibase": "http://wikiba.se/ontology#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "prov": "http://www.w3.org/ns/prov#",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dbr": "http://dbpedia.org/resource/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "yago": "http://yago-knowledge.org/resource/",
    "fb": "http://rdf.freebase.com/ns/",
    "biolink": "https://w3id.org/biolink/vocab/",
    "obo": "http://purl.obolibrary.org/obo/",
}
_IRI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)\S+")
_CUTS = "/#"


def is_iri(name: str) -> bool:
    """Whether a name is an IRI that is worth shortening."""
    return _IRI.fullmatch(name) is not None


def last_segment(iri: str) -> str:
    """What stands behind the last slash or hash; the whole where that is nothing."""
    return iri[_cut(iri) :] or iri


def _cut(iri: str) -> int:
    return 1 + max(iri.rfind(mark) for mark in _CUTS)


class Prefixes:
    """Prefixes to shorten IRIs with.

    Args:
        declared: Prefix to namespace, beside those that everybody knows.
    """

    def __init__(self, declared: Mapping[str, str]) -> None:
        merged = {**PREFIXES, **declared}
        self._of = {namespace: prefix for prefix, namespace in merged.items() if namespace}
        inside = [namespace for namespace in self._of if namespace[-1] not in _CUTS]
        self._inside = sorted(inside, key=len, reverse=True)  # such as …/obo/GO_

    def namespace(self, iri: str) -> str | None:
        """The namespace that an IRI is shortened by, if any is known."""
        for namespace in self._inside:
            if iri.startswith(namespace) and _cut(iri) <= len(namespace) < len(iri):
                return namespace
        namespace = iri[: _cut(iri)]
        return namespace if namespace in self._of and namespace != iri else None

    def shorten(self, iri: str) -> str | None:
        """The IRI with a prefix in place of its namespace, if any is known."""
        namespace = self.namespace(iri)
        return None if namespace is None else f"{self._of[namespace]}:{iri[len(namespace) :]}"

    def prefix(self, namespace: str) -> str:
        """The prefix of a known namespace."""
        return self._of[namespace]
