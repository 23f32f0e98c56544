"""Commands on graphs: transform, restore, verify, draw."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperfact.cli.common import AsJson, Dataset, Force, app, refuse_existing, write_page
from hyperfact.cli.data import Reading, Shown
from hyperfact.cli.engines import Work
from hyperfact.cli.options import grouped
from hyperfact.cli.printing import note, print_json, print_table, print_text
from hyperfact.cli.visible import in_line
from hyperfact.data import write
from hyperfact.data.manifest import MANIFEST
from hyperfact.draw import draw_fact, draw_neighbourhood, draw_transformations
from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.kg import KG
from hyperfact.graph.labels import Labels
from hyperfact.graph.queries import read_fact
from hyperfact.scale import verify_on_disk
from hyperfact.scale.disk_work import restore_on_disk, transform_on_disk
from hyperfact.system.writing import is_special
from hyperfact.transforms import MODES, TRANSFORMS, Certificate, restore, transform, twins, verify
from hyperfact.transforms.complexity import Sizes, costs
from hyperfact.transforms.interchange import KG_FORMATS, read_kg, write_kg


@dataclass(frozen=True)
class Way:
    """How facts become a KG."""

    transformation: Annotated[str, typer.Option(help=f"One of {', '.join(TRANSFORMS)}.")] = (
        "equivalent"
    )
    mode: Annotated[
        str | None,
        typer.Option(help=f"For equivalent: {', '.join(MODES)}. [default: {MODES[0]}]"),
    ] = None


SplitName = Annotated[str, typer.Option("--split", help="train, valid, test or all.")]


def pick(splits: Splits, split: str) -> HKG:
    """The facts of one split, or of all."""
    if split != "all" and split not in splits:
        raise UnknownNameError("split", split, [*splits, "all"])
    return splits.all if split == "all" else splits[split]


@app.command("transform")
@grouped
def transform_command(
    words: Annotated[
        list[str],
        typer.Argument(metavar="DATASET OUT", help="With --table: one or more datasets, no OUT."),
    ],
    way: Way,
    reading: Reading,
    work: Work,
    *,
    split: SplitName = "train",
    to: Annotated[str | None, typer.Option(help=f"Format of OUT: {', '.join(KG_FORMATS)}.")] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Only count: every transformation beside its bound.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Transform facts to a KG of triples, or compare the sizes of all transformations.

    Examples: `hyperfact transform JF17K kg`, `hyperfact transform facts.jsonl kg.nt`,
    `hyperfact transform --table FB-AUTO JF17K WD50K`
    """
    if table:
        loaded = [reading.splits(name) for name in words]
        _print_costs([(s.name, pick(s, split)) for s in loaded], as_json=as_json)
        return
    if len(words) != 2:
        raise UserError(f"expected DATASET and OUT, got {len(words)} words (or use --table)")
    out = Path(words[1])
    refuse_existing(out, force=force)
    if work.is_used(words[0], reading):
        if to not in (None, "parquet"):
            raise UserError(f"--to {to} is written from memory; add --engine memory")
        with work.facts(words[0]) as facts:
            found = transform_on_disk(facts, out, split, way.transformation, mode=way.mode)
        title = found["transformation"] + (f"/{found['mode']}" if found["mode"] else "")
        text = f"KG({title}: {found['edges']:,} edges, {found['mediators']:,} mediators)"
        lost = found.pop("lost")
    else:
        hkg = pick(reading.splits(words[0]), split)
        kg = transform(hkg, way.transformation, mode=way.mode)
        write_kg(kg, out, format=to)
        lost = int(twins(hkg).sum()) if kg.mode == "paper-text" else 0
        found, text = {"facts": len(hkg), **_about(kg)}, repr(kg)
    if lost:
        note(f"mode paper-text: {lost:,} facts cannot be recovered (see `hyperfact verify`)")
    if as_json:
        print_json({"split": split, **found, "out": str(out)})
    else:
        print_text(f"{text} of {found['facts']:,} {split} facts written to {in_line(out)}")


def _about(kg: KG) -> dict[str, Any]:
    return {
        "transformation": kg.transformation,
        "mode": kg.mode,
        "nodes": kg.num_nodes,
        "mediators": kg.num_mediators,
        "edges": len(kg),
        "fingerprint": kg.fingerprint,
    }


def _print_costs(graphs: list[tuple[str, HKG]], *, as_json: bool) -> None:
    rows = []
    for name, hkg in graphs:
        sizes = vars(Sizes.of(hkg))
        rows += [{"dataset": name, **vars(cost), "letters": sizes} for cost in costs(hkg)]
    if as_json:
        print_json(rows)
        return
    for name, hkg in graphs:
        letters = ", ".join(f"{k} = {v:,}" for k, v in vars(Sizes.of(hkg)).items())
        print_text(f"{in_line(name)}: {letters}")
    print_text("")
    columns = ("dataset", "transformation", "mode", "measure", "formula", "bound", "counted")
    print_table(columns, [["" if row[c] is None else row[c] for c in columns] for row in rows])


@app.command("restore")
@grouped
def restore_command(
    kg: Annotated[Path, typer.Argument(metavar="KG", help="What `hyperfact transform` wrote.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file of facts to write.")],
    work: Work,
    *,
    from_: Annotated[
        str | None, typer.Option("--from", help="Format of the KG; recognised if not given.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Format of the facts; see `formats`.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Bring the facts of a KG back, exactly, or say why there are none.

    Examples: `hyperfact restore kg facts.jsonl`, `hyperfact restore kg facts --to parts`
    """
    refuse_existing(out, force=force)
    if work.restores(kg, from_, to):
        with work.open() as engine:
            count, fingerprint = restore_on_disk(kg, out, engine)
        paths = [out / MANIFEST]
    else:
        hkg = restore(read_kg(kg, format=from_))
        paths = write(hkg, out, format=to)
        count, fingerprint = len(hkg), hkg.fingerprint
    if as_json:
        files = [str(path) for path in paths]
        print_json({"facts": count, "fingerprint": fingerprint, "files": files})
    else:
        print_text(f"restored {count:,} facts to {', '.join(map(str, paths))}")


@app.command("verify")
@grouped
def verify_command(
    dataset: Dataset,
    way: Way,
    reading: Reading,
    work: Work,
    *,
    split: SplitName = "train",
    examples: Annotated[int, typer.Option(min=0, help="Lost facts to show for each reason.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Also write the certificate here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Certify that a transformation of these facts loses nothing, or name what it loses.

    Exit code 0 if nothing is lost, 1 if something is.

    Examples: `hyperfact verify WD50K`, `hyperfact verify WD50K --mode paper-text`,
    `hyperfact verify JF17K --transformation plain --json`
    """
    refuse_existing(out, force=force)
    if work.is_used(dataset, reading):
        with work.facts(dataset) as facts:
            name = facts.manifest.name
            certificate = verify_on_disk(
                facts, split, way.transformation, mode=way.mode, examples=examples
            )
        labels = Labels(work.labels(dataset))
    else:
        splits = reading.splits(dataset)
        name, labels = splits.name, splits.labels
        hkg = pick(splits, split)
        certificate = verify(hkg, way.transformation, mode=way.mode, examples=examples)
    document = {"dataset": name, "split": split, **certificate.to_dict()}
    if out is not None:
        write_page(out, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    if as_json:
        print_json(document)
    else:
        _print_certificate(certificate, f"{name} {split}")
        for loss, some in zip(certificate.losses, certificate.examples, strict=True):
            print_text(f"\n{loss.reason}: {len(loss.rows):,} facts\n  {loss.why}")
            for fact in some:
                print_text(f"  e.g. {labels.fact(read_fact(fact))}")
    if not certificate.lossless:
        raise typer.Exit(1)


def _print_certificate(found: Certificate, what: str) -> None:
    title = found.transformation + (f"/{found.mode}" if found.mode else "")
    verdict = "lossless" if found.lossless else f"LOSSY, {found.lost:,} facts are lost"
    print_text(f"{in_line(what)}, {title}: {verdict}\n")
    print_table(("count", ""), [(name, value) for name, value in found.counts.items()])
    print_text(f"\nfacts    {found.hkg_fingerprint}\ngraph    {found.kg_fingerprint}")
    print_text(f"restored {found.restored_fingerprint or 'this transformation has no inverse'}")


@app.command()
@grouped
def draw(
    dataset: Dataset,
    what: Annotated[
        str, typer.Argument(help="An entity, or a fact such as `s | r | o`.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.svg", show_default=False)],
    shown: Shown,
    *,
    transformations: Annotated[
        bool, typer.Option("--transformations", help="The fact under every transformation.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Facts of an entity.")] = 8,
    split: SplitName = "all",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw a fact, or an entity with its facts, as SVG.

    Examples: `hyperfact draw baseball "Hank Aaron" aaron.svg`,
    `hyperfact draw baseball "Hank Aaron | played for | Milwaukee Braves" fact.svg`
    """
    if out.suffix not in ("", ".svg") and not is_special(out):
        raise UserError(f"{out}: pictures are SVG; name a file that ends in .svg")
    refuse_existing(out, force=force)
    splits = shown.splits(dataset)
    hkg, labels = pick(splits, split), splits.labels
    drawn = what if "|" in what else labels.meant(what, "entity")
    fact = None if drawn in hkg.entities and not transformations else _fact_like(hkg, drawn, labels)
    if fact is None:
        picture = draw_neighbourhood(hkg, drawn, limit=limit, labels=labels)
    else:
        picture = (draw_transformations if transformations else draw_fact)(fact, labels)
    write_page(out, f"{picture}\n")
    found = drawn if fact is None else str(fact)
    label = labels.show(drawn) if fact is None else labels.fact(fact)
    if as_json:
        print_json({"drawn": found, "label": label, "out": str(out)})
    else:
        print_text(f"drew {in_line(label)} to {in_line(out)}")


def _fact_like(hkg: HKG, what: str, labels: Labels) -> Fact:
    """The fact as written; else the first with its primary triple, or of the entity."""
    if "|" not in what:
        return hkg.of_entity(what)[0]
    written = _renamed(read_fact(what), labels)
    near = hkg.of_entity(hkg.entities.id(written.subject, "entity"))
    alike: list[Fact] = [fact for fact in near if fact.primary == written.primary]
    if written in alike:
        return written
    if written.qualifiers or not alike:
        raise UserError(f"no fact {what!r} in this dataset")
    return next((fact for fact in alike if fact.qualifiers), alike[0])


def _renamed(fact: Fact, labels: Labels) -> Fact:
    """The fact by the names that are meant, where it has labels."""
    subject, obj = (labels.meant(name, "entity") for name in (fact.subject, fact.object))
    pairs = [(labels.meant(a, "relation"), labels.meant(v, "entity")) for a, v in fact.qualifiers]
    return Fact(subject, labels.meant(fact.relation, "relation"), obj, tuple(pairs))
