"""Train two models on the same facts and say which is better, and how sure that is."""

from hyperfact import Splits, evaluate, load, train
from hyperfact.evaluation import align, compare

SETTINGS = {
    **{"training.dim": 16, "training.epochs": 4, "training.batch_size": 256},
    **{"training.validate_every": 0, "decoder.dropout": 0.0, "optimizer.lr": 0.02},
}

baseball = load("baseball")
born = Splits({name: part.of_relation("born in") for name, part in baseball.items()})
plain = evaluate(train(born, encoder="lookup", settings=SETTINGS))
graph = evaluate(train(born, encoder="compgcn", settings=SETTINGS))

found = compare(*align(plain.ranks, graph.ranks))
print(f"MRR {found.first:.3f} without the graph, {found.second:.3f} with it")
print(
    f"difference {found.difference:+.3f}, between {found.interval.low:+.3f} and "
    f"{found.interval.high:+.3f}, {'not ' * (found.interval.low <= 0 <= found.interval.high)}clear"
)
print(f"{found.wins} questions are ranked better, {found.losses} worse, {found.ties} the same")
