"""The audit as one HTML page: no script, no network, every name escaped."""

from collections.abc import Iterable, Mapping

from hyperfact.data.audit.findings import Audit, Finding, percent
from hyperfact.data.audit.kinds import INFO, LEAK, OK, WARNING
from hyperfact.data.stats import SplitStats, Stats
from hyperfact.draw.pages.html import document, text

_COLOURS = ("train", "valid", "test", "aux")
_ARITIES = 7  # rows of the arity chart; longer facts share the last one
_OVERLAPS = (
    "facts-in-two-splits",
    "primary-in-train",
    "primary-in-train-or-valid",
    "facts-with-unseen-entity",
    "told-by-another-relation",
)
_HEADINGS = {LEAK: "Leaks", WARNING: "Warnings", INFO: "Notes"}
_MEANINGS = {
    LEAK: "A result on valid or test looks better than it is.",
    WARNING: "Look at these before you compare results.",
    INFO: "Good to know; nothing has to be done.",
}


def page(audit: Audit, stats: Stats) -> str:
    """A complete HTML document."""
    sections = [_findings(audit, severity) for severity in _HEADINGS]
    body = f"""{_summary(audit, stats)}
<div class="sizes">{_sizes(stats)}</div>
<h2>At a glance</h2>
<div class="grid">{_overlaps(audit)}{_arities(stats)}</div>
{"".join(sections)}
{_clear(audit)}"""
    footer = "A fact is written\nsubject | relation | object | attribute = value."
    return document(f"Audit of {audit.name}", body, footer=footer)


def _summary(audit: Audit, stats: Stats) -> str:
    words = {LEAK: "leak", WARNING: "warning", INFO: "note", OK: "passed check"}
    counts = {severity: len(audit.with_severity(severity)) for severity in words}
    badges = "".join(
        f'<span class="badge {severity}">{n} {words[severity]}{"" if n == 1 else "s"}</span>'
        for severity, n in counts.items()
    )
    return f"""<p class="soft">{stats.entities:,} entities ({stats.literals:,} literals),
{stats.primary_relations:,} primary relations, {stats.attributes:,} attributes</p>
<div class="badges">{badges}</div>"""


def _sizes(stats: Stats) -> str:
    return "".join(
        f'<div class="card"><p class="soft">{text(split.name)}</p>'
        f'<p class="number">{split.facts:,}</p>'
        f'<p class="soft">facts, {percent(split.qualified_share)} qualified</p></div>'
        for split in stats.splits
    )


def _bar(share: float, colour: str) -> str:
    """One bar; a share that is not nothing can always be seen."""
    width = max(100 * share, 0.8) if share else 0.0
    return (
        '<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="12" rx="1"/>'
        f'<rect class="fill-{colour}" width="{width:.2f}" height="12" rx="1"/></svg>'
    )


def _overlaps(audit: Audit) -> str:
    rows = "".join(
        f'<div class="bar"><span>{_label(f)}</span>{_bar(f.share, f.severity)}'
        f"<span>{percent(f.share)}</span></div>"
        for f in audit.findings
        if f.id in _OVERLAPS
    )
    if not rows:
        rows = '<p class="soft">There is one split only, so nothing can overlap.</p>'
    title = "Held-out facts: seen before, or unknown"
    return f'<section class="card overlap"><h2>{title}</h2>{rows}</section>'


def _label(finding: Finding) -> str:
    where = f' <span class="soft">({text(finding.where)})</span>' if finding.where else ""
    return f"{finding.kind.title.capitalize()}{where}"


def _arities(stats: Stats) -> str:
    arities = sorted({a for split in stats.splits for a in split.arities})
    rows = "".join(_arity_row(arity, stats.splits) for arity in arities[: _ARITIES - 1])
    rest = arities[_ARITIES - 1 :]
    if rest:
        rows += _arity_row(rest[0], stats.splits, last=len(rest) > 1)
    key = "".join(
        f'<span class="key key-{_colour(split.name)}"></span>{text(split.name)}'
        for split in stats.splits
    )
    return f'<section class="card"><h2>Facts by arity</h2><p class="soft">{key}</p>{rows}</section>'


def _arity_row(arity: int, splits: Iterable[SplitStats], *, last: bool = False) -> str:
    bars = "".join(
        f'<div class="bar">{_bar(share, _colour(split.name))}<span>{percent(share)}</span></div>'
        for split in splits
        for share in [_share(split.arities, split.facts, arity, last=last)]
    )
    return f'<div class="arity"><span>{arity}{"+" if last else ""}</span><div>{bars}</div></div>'


def _share(arities: Mapping[int, int], facts: int, arity: int, *, last: bool) -> float:
    count = sum(n for a, n in arities.items() if a == arity or (last and a > arity))
    return count / facts if facts else 0.0


def _colour(split: str) -> str:
    return split if split in _COLOURS else "aux"


def _findings(audit: Audit, severity: str) -> str:
    kinds = dict.fromkeys(finding.id for finding in audit.with_severity(severity))
    if not kinds:
        return ""
    cards = "".join(
        _card([f for f in audit.with_severity(severity) if f.id == kind]) for kind in kinds
    )
    return (
        f'<h2>{_HEADINGS[severity]} <span class="meaning">{_MEANINGS[severity]}</span></h2>'
        f'<div class="cards {severity}-cards">{cards}</div>'
    )


def _card(findings: list[Finding]) -> str:
    """One kind of finding, with each place where it was found."""
    kind = findings[0].kind
    body = "".join(f"<p>{text(f.sentence)}</p>{_examples(f)}" for f in findings)
    return f"""
<article class="card finding edge-{kind.severity}" id="{kind.id}">
<div class="head"><span class="badge {kind.severity}">{kind.severity}</span>
<h3>{kind.title.capitalize()}</h3></div>
<p class="reason">{kind.reason}</p>{body}
</article>"""


def _examples(finding: Finding) -> str:
    if not finding.examples:
        return ""
    rows = "".join(f"<code><bdi>{text(example)}</bdi></code>" for example in finding.examples)
    unfold = " open" if finding.severity == LEAK else ""
    return f"<details{unfold}><summary>Examples</summary>{rows}</details>"


def _clear(audit: Audit) -> str:
    if not audit.clear:
        return ""
    rows = "".join(f"<li>{text(words)}</li>" for words in audit.clear)
    return f'<h2>Checked, nothing found</h2><div class="card"><ul class="clear">{rows}</ul></div>'
