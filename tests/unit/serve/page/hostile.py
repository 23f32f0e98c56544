"""Names that try to be more than text, and a small run that knows all of them."""

from functools import lru_cache
from pathlib import Path

import torch

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.predict import Predictor
from hyperfact.runs.experiment import run
from tests.support.runs import folder, league_config

RUN = "window.canary=1"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f'"><script>{RUN}</script>',
    f"'><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><img src=x onerror="{RUN}">',
    f"' onmouseover='{RUN}",
    f'" onfocus="{RUN}" autofocus="',
    f"<svg onload={RUN}>",
    f"</svg><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"--><script>{RUN}</script>",
    f"]]><script>{RUN}</script>",
    f'<a href="javascript:{RUN}">x</a>',
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}//",
    f"data:text/html,<script>{RUN}</script>",
    "{{ 7*7 }}",
    "{% for x in (1, 2) %}{{ x }}{% endfor %}",
    f"${{{RUN}}}",
    f"`${{{RUN}}}`",
    "#{7*7}",
    "<%= 7*7 %>",
    "\u202egnp.exe",
    "\u2066isolated\u2069 and \u200fmore",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f'<object data="javascript:{RUN}"></object>',
    '<meta http-equiv="refresh" content="0;url=https://example.org/">',
    "<link rel=stylesheet href=https://example.org/x.css>",
    '<base href="https://example.org/">',
    f"<form action=https://example.org/><input autofocus onfocus={RUN}>",
    "<style>body{display:none}</style>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<math><mtext><table><mglyph><style><img src onerror={RUN}>",
    f"<template><script>{RUN}</script></template>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#x3C;img src=x onerror={RUN}&#x3E;",
    "=cmd|' /C calc'!A0",
    "W" * 10_000,
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "__proto__",
    "null\x00byte\r\nset-cookie: a=b",
    '?"|= \\ \u2028 #fragment &q=x',
)
RELATIONS = (f"<b onclick={RUN}>knows</b>", f'" onload="{RUN}', "plain")
SHORT = tuple(name for name in PAYLOADS if len(name) < 1000)


def hostile() -> Splits:
    """Each payload as subject, object and value; relations and the dataset have such names too."""
    names, r = PAYLOADS, RELATIONS
    facts = []
    for i, name in enumerate(names):
        after, next_one = names[(i + 1) % len(names)], names[(i + 2) % len(names)]
        facts.append(Fact(name, r[i % 3], after, ((r[(i + 1) % 3], next_one),)))
        facts.append(Fact(name, r[(i + 1) % 3], next_one))
    train, held = facts, [Fact(names[i], r[2], names[i + 3]) for i in range(6)]
    whole = HKG.from_facts([*train, *held])
    parts = {"train": train, "valid": held[:3], "test": held[3:]}
    return Splits(
        {
            split: HKG.from_facts(some, entities=whole.entities, relations=whole.relations)
            for split, some in parts.items()
        },
        f"<img src=x onerror={RUN}>",
    )


@lru_cache
def hostile_run() -> Path:
    """A run over the hostile names, trained for an epoch."""
    torch.set_num_threads(1)
    path = folder() / "hostile"
    training = {"dim": 8, "epochs": 1, "batch_size": 32, "validate_every": 0}
    config = league_config(training={**training, "precision": "float32"})
    run(config, splits=hostile(), out=path)
    Predictor.load(path, splits=hostile())  # keeps the facts beside the run
    return path
