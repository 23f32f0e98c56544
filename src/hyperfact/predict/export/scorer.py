"""The scorer as a torch program that runs without hyperfact, if it is exact.

The program takes `entities (batch, slots)`, `relations (batch, slots - 1)`, `mask (batch, slots)`
and `slots (batch,)`, padded to the largest arity of the run, and gives a score for every entity. Of
a decoder whose steps depend on how many questions there are, it takes one question at a time. It is
written only if it returns, bit for bit, what the decoder returns for questions of every arity.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyperfact.errors import UserError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.representations import Representations
from hyperfact.predict.predictor import Predictor

_SAMPLE = 64

#: Entities, relations, mask and asked slots.
Inputs = tuple[Tensor, ...]


class Program(nn.Module):
    """A decoder with its vectors, from tensors to a tensor."""

    def __init__(self, decoder: Decoder, z: Representations) -> None:
        super().__init__()
        self.decoder = decoder
        self.names = {name.replace(".", "_"): name for name in z.tensors()}
        for buffer, name in self.names.items():
            self.register_buffer(buffer, z.tensors()[name].detach())

    def forward(self, entities: Tensor, relations: Tensor, mask: Tensor, slots: Tensor) -> Tensor:
        """The score of every entity in the asked slot."""  # (batch, entities)
        z = Representations.of({name: getattr(self, b) for b, name in self.names.items()})
        return self.decoder.score_slot(FactBatch(entities, relations, mask), slots, z)


def export_scorer(predictor: Predictor, path: Path) -> Path:
    """Write the program.

    Raises:
        UserError: It would not be exact, or torch cannot export it.
    """
    if predictor.scorer.precision == "bfloat16":
        raise UserError("the scorer computes in bfloat16 here, which an export would not repeat")
    if predictor.scorer.evidence is not None:
        raise UserError("this scorer counts training facts (`evidence`), which no export repeats")
    program = Program(predictor.scorer.decoder, predictor.scorer.z).eval()
    sample = _sample(predictor.knowledge.train)
    exported, parts = _exported(program, sample)
    torch.export.save(exported, path)
    _check(torch.export.load(path).module(), program, parts, path)
    return path


def _exported(program: Program, sample: Inputs) -> tuple[Any, list[Inputs]]:
    """The program for any number of questions, else for one, and inputs to check it with."""
    batch = torch.export.Dim("batch", min=2)
    half = tuple(t[: max(2, len(t) // 2)] for t in sample)
    single = [tuple(t[i : i + 1] for t in sample) for i in range(len(sample[0]))]
    reason = ""
    for shapes, parts in (([{0: batch}] * 4, [sample, half]), (None, single)):
        try:
            with torch.no_grad():
                return torch.export.export(program, parts[0], dynamic_shapes=shapes), parts
        except Exception as error:  # torch raises its own kinds, none of them public
            reason = str(error).strip().partition("\n")[0]
    raise UserError(
        "this scorer cannot be exported: its steps depend on what a question holds, which a fixed "
        f"program cannot ({reason})"
    )


def _check(loaded: Any, program: Program, parts: list[Inputs], path: Path) -> None:
    """Remove the file unless it repeats the decoder exactly."""
    for part in parts:
        with torch.no_grad():
            same = torch.equal(loaded(*part), program(*part))
        if not same:
            path.unlink()
            raise UserError("the exported scorer is not exact, so it was not written")


def _sample(train: HKG) -> Inputs:
    """Facts of every arity, padded to the largest, each with some slot asked."""
    arities = train.arity
    rows: list[Array] = [
        np.flatnonzero(arities == arity)[: max(2, _SAMPLE // len(np.unique(arities)))]
        for arity in np.unique(arities)
    ]
    chosen = np.concatenate(rows)
    facts = FactBatch.of(train, chosen)
    slots = torch.from_numpy(np.arange(len(chosen)) % arities[chosen])
    return facts.entities, facts.relations, facts.mask, slots
