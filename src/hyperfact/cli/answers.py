"""Answers, explanations and moves as text for the terminal."""

from typing import TYPE_CHECKING

from hyperfact.cli.printing import note, print_json, print_table, print_text
from hyperfact.cli.visible import in_line
from hyperfact.graph.labels import Labels
from hyperfact.graph.syntax import quote

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.predict import Answers
    from hyperfact.predict.answers import Estimate
    from hyperfact.predict.explain import Explanation, Step, WhatIf
    from hyperfact.predict.moving import Moved


def print_answers(answers: "Answers") -> None:
    """A ranking as a table."""
    full = answers.labels.full
    rows = [
        (a.rank, quote(full(a.name)), f"{a.score:.3f}", f"{a.probability:.3f}", ", ".join(a.where))
        for a in answers
    ]
    print_table(("rank", "answer", "score", "probability", "known in"), rows)
    kind = "probabilities are calibrated" if answers.calibrated else "not calibrated"
    note(f"{answers.candidates:,} candidates; {kind}")
    print_notes(answers)


def print_estimate(question: str, found: "Estimate", *, as_json: bool) -> None:
    """A number where one is asked for."""
    if as_json:
        print_json({"question": question, "estimate": found.as_dict()})
        return
    from hyperfact.predict.answers import LEVEL

    value, low, high = (in_line(q.text) for q in (found.value, found.low, found.high))
    print_text(f"estimate  {value}")
    if found.interval is not None:
        ends = " to ".join(in_line(end.text) for end in found.interval)
        print_text(f"{LEVEL:.0%} interval  {ends}")
    for fact in found.near:
        print_text(f"near  {in_line(str(fact))}")
    note(f"training facts have {low} to {high} in this role")


def print_notes(answers: "Answers") -> None:
    """What to know before one trusts them, beside the output."""
    for line in (*answers.notes, *([answers.also] if answers.told else [])):
        note(line)


def print_explanation(found: "Explanation") -> None:
    """What speaks for an answer, one kind of evidence after the other."""
    from hyperfact.predict.questions import label_of

    place, labels = found.place, found.labels
    print_text(
        f"{in_line(label_of(found.question, labels))}\n? = {in_line(labels.full(found.answer))}: "
        f"rank {place.rank:g} of {place.candidates:,}, probability {place.probability:.3f}\n\n"
        "Without each known part:\n"
    )
    print_table(
        ("part", "", "how", "rank", "log probability"),
        [
            (p.part, p.label, p.how, f"{p.rank:g}", f"{p.log_probability_change:+.3f}")
            for p in found.parts
        ],
    )
    print_text("\nNear training facts:\n")
    rows = [
        (f"{s.nearness:.3f}", "" if s.effect is None else f"{s.effect:+.3f}", labels.fact(s.fact))
        for s in found.support
    ]
    print_table(("nearness", "effect", "fact"), rows)
    print_text("\nPaths from what is known to the answer:\n")
    for path in found.paths:
        print_text("\n".join(in_line(_step(step, labels)) for step in path.steps))
    if not found.paths:
        print_text("  none over one or two facts")
    if found.counts:
        print_text("\nCounted in training facts, exactly:\n")
        print_table(
            ("times", "effect", "counted", "such as"),
            [
                (c.count, f"{c.effect:+.3f}", c.text, *(labels.fact(f) for f in c.facts[:1]))
                for c in found.counts
            ],
        )
    note(found.note)


def _step(step: "Step", labels: Labels) -> str:
    start, end = labels.field(step.start), labels.field(step.end)
    return f"  {start} -> {end}: {labels.fact(step.fact)}"


def print_moves(found: "WhatIf") -> None:
    """Both rankings side by side."""
    full = found.after.labels.full
    print_text(f"before: {found.before.label}")
    print_text(f"after:  {found.after.label}\n")
    rows = [
        (
            m.before,
            m.after,
            f"{m.rise:+d}" if m.rise else "",
            f"{m.probability_before:.3f}",
            f"{m.probability_after:.3f}",
            quote(full(m.name)),
        )
        for m in found.moves
    ]
    print_table(("before", "after", "rise", "probability", "then", "answer"), rows)
    print_notes(found.after)


def print_moved(moved: "Moved") -> None:
    """Answers by the values of a number, one column an answer."""
    print_text(in_line(moved.label))
    rows = []
    for i, (value, row) in enumerate(zip(moved.values, moved.probabilities, strict=True)):
        here = "here" if i == moved.at else ""
        rows.append((in_line(value), *(f"{p:.3f}" for p in row.tolist()), here))
    print_table((moved.attribute, *moved.labels, ""), rows)
