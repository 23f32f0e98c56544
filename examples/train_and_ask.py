"""Train a small model on some facts, ask it a question, and see why it answers so."""

from hyperfact import Predictor, Splits, load, train
from hyperfact.predict.explain import explain, whatif

QUESTION = "Hank Aaron | inducted into | Baseball Hall of Fame | elected by = ? | season = 1982"
SETTINGS = {
    **{"training.dim": 32, "training.epochs": 15, "training.batch_size": 256},
    **{"training.validate_every": 5, "decoder.dropout": 0.0, "optimizer.lr": 0.02},
}

baseball = load("baseball")
elections = Splits({name: part.of_relation("inducted into") for name, part in baseball.items()})
run = train(elections, settings=SETTINGS, out="elections")
print(run.results["test"])

predictor = Predictor.load("elections", splits=elections)  # or Predictor.of(run)
answers = predictor.ask(QUESTION, k=3)
print(answers)
for part in explain(predictor, QUESTION, answers[0].name).parts:
    print(f"without {part.text}: rank {part.rank:g}")
for move in whatif(predictor, QUESTION, ["season = 2001"], k=3).moves:
    print(f"{move.rise:+d}  {move.name}")
