"""Read facts, turn them into a plain graph, write that graph, and have every fact back."""

from pathlib import Path

from hyperfact import load, read_fact, read_kg, restore, transform, verify, write_kg

facts = load("baseball").train
print(facts)
assert read_fact(str(facts[0])) == facts[0]  # whatever is printed can be read

graph = transform(facts)  # plain edges, a mediator for each fact with qualifiers
print(graph)
print("lossless:", verify(facts).lossless, "| as a clique:", verify(facts, "clique_plain").lossless)

folder = write_kg(graph, Path("baseball-kg"))  # TSV; also parquet, neo4j, libkge, RDF
print(*sorted(path.name for path in folder.iterdir()))
assert restore(read_kg(folder)) == facts
