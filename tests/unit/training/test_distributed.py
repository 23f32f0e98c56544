"""Several processes train as one does: losses, ranks, checkpoints of any number of them."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.errors import ConfigError, StorageError
from hyperfact.graph.hkg import Splits
from hyperfact.kernels.divided_softmax import divided_softmax_loss_
from hyperfact.kernels.dropout import dropout
from hyperfact.kernels.softmax import Part, SoftmaxOptions, Targets, softmax_loss_
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS
from hyperfact.models.shard import Shard
from hyperfact.runs.build import CHOICE
from hyperfact.runs.experiment import resume, run
from hyperfact.runs.setup import set_up
from hyperfact.training.checkpoints import Checkpoints
from hyperfact.training.distributed import check_size, joined
from hyperfact.training.events import Event, Report
from tests.support.models import ENCODER_FORMS, config_of, random_facts
from tests.support.teams import free_port, together

FACTS = random_facts(60)
SPLITS = Splits(
    {
        "train": FACTS.select(np.arange(50)),
        "valid": FACTS.select(np.arange(50, 55)),
        "test": FACTS.select(np.arange(55, 60)),
    },
    "facts",
)
TRAINING = {"dim": 8, "precision": "float64", "batch_size": 16, "micro_batch": 10}
Sections = dict[str, dict[str, Any]]
FORMS: dict[str, Sections] = {
    "compgcn": {"encoder": {"name": "compgcn", "dropout": 0.2, "hidden_dropout": 0.1}},
    "in blocks": {"encoder": {"name": "compgcn", "alpha": 0.7}, "training": {"dim": 140}},
    "blocks of mult": {
        "encoder": {"name": "compgcn", "composition": "mult"},
        "training": {"dim": 130},
    },
    "lookup": {"encoder": {"name": "lookup"}, "graph": {"strangers": 0.2}},
    "stare": {"encoder": {"name": "stare"}, "graph": {"hide_targets": "batch"}},
    "sampled": {"encoder": {"name": "lookup"}, "objective": {"negatives": 3}},
    "read apart": {
        "decoder": {"name": "mdistmult", "dropout": 0.3, "query_dropout": 0.2, "limit": 5.0},
        "objective": {"partial": 0.3},
    },
    "masked": {"objective": {"mask_others": True, "label_smoothing": 0.1}},
    "scores": {"decoder": {"name": "transe"}, "objective": {"negatives": 0, "cubes": 0.1}},
    "cubes": {
        "objective": {"cubes": 0.1, "partial": 0.3},
        "decoder": {"name": "mdistmult", "coordinate_dropout": 0.5},
    },
    "evidence": {"evidence": {"order": 2, "related": True, "quiet": 0.3}},
    "share": {"objective": {"share": 0.4, "label_smoothing": 0.1}},
    "counted share": {"evidence": {"order": 2}, "objective": {"share": 0.4}},
    "counted": {
        "evidence": {"order": 2, "quiet": 0.3},
        "objective": {"negatives": 3},
        "graph": {"unseen": "own"},
    },
    "counted scores": {
        "evidence": {"order": 1, "quiet": 0.3},
        "decoder": {"name": "transe"},
        "objective": {"negatives": 0},
    },
    "joint": {"encoder": {"name": "lookup"}, "objective": {"joint": True, "negatives": 2}},
}
Story = tuple[list[tuple[float, float]], float]


def stories(forms: list[Sections]) -> list[Story]:
    """Losses and gradient norms of the first steps of each, then the MRR of valid facts."""
    torch.set_num_threads(1)
    found = []
    for sections in forms:
        training = TRAINING | sections.get("training", {})
        setup = set_up(config_of(**(sections | {"training": training})), SPLITS)
        reports = (event for event in setup.trainer.run() if isinstance(event, Report))
        steps = [(report.loss, report.gradient_norm) for report in islice(reports, 5)]
        assert setup.valid is not None
        found.append((steps, setup.mrr(setup.valid, CHOICE)))
    return found


def check_equal(forms: list[Sections], size: int, *, replicas: int = 1) -> None:
    """All processes of a team tell the stories that one alone tells."""
    for told in together(size, stories, forms, replicas=replicas):
        compare(told, forms)


def compare(told: list[Story], forms: list[Sections]) -> None:
    """To what one process tells."""
    for sections, mine, theirs in zip(forms, stories(forms), told, strict=True):
        np.testing.assert_allclose(theirs[0], mine[0], rtol=1e-9, err_msg=str(sections))
        assert mine[1] == theirs[1], sections


@pytest.mark.slow
def test_two_processes_have_the_losses_and_ranks_of_one() -> None:
    check_equal(list(FORMS.values()), 2)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "replicas"), [(3, 1), (4, 2), (2, 2)])
def test_so_have_more_and_replicas(size: int, replicas: int) -> None:
    check_equal(list(FORMS.values()), size, replicas=replicas)


@pytest.mark.slow
def test_so_have_every_encoder_and_every_decoder() -> None:
    """But for those that read facts, which are for one process and say so."""
    encoders = [
        {"encoder": form}
        for form in ENCODER_FORMS.values()
        if ENCODERS[str(form["name"])].tells_apart
    ]
    decoders: list[Sections] = [
        {"decoder": {"name": name}} for name, one in DECODERS.items() if not one.reads_facts
    ]
    check_equal([*encoders, *decoders], 3)


def trained(path: Path, epochs: int) -> None:
    """A run that is cut off in its last epoch, with a checkpoint after each step."""
    torch.set_num_threads(1)
    training = {**TRAINING, "epochs": epochs, "validate_every": 1, "average": 0.9}
    config = config_of(training=training, checkpoint={"every_seconds": 0.0, "budget": 1.0})

    def cut(event: Event) -> None:
        if event.epoch == epochs:
            raise Cut

    with pytest.raises(Cut):
        run(config, splits=SPLITS, out=path, watch=cut)


class Cut(BaseException):
    """Ends a training as a kill does."""


def resumed(path: Path) -> list[float]:
    """The ranks of a run that goes on."""
    torch.set_num_threads(1)
    found: list[float] = resume(path, splits=SPLITS).results["test"].ranks.by("realistic").tolist()
    return found


def resumed_alone(path: Path) -> list[float]:
    """The same by one process from beginning to end."""
    trained(path, 3)
    return resumed(path)


def both(forms: list[Sections], path: Path) -> list[Story]:
    """The stories, and a run that is cut off; processes take their time to start."""
    told = stories(forms)
    trained(path, 3)
    return told


def test_two_processes_train_like_one_which_takes_up_their_checkpoint(tmp_path: Path) -> None:
    forms = [FORMS["compgcn"], FORMS["sampled"]]
    for told in together(2, both, forms, tmp_path / "two"):
        compare(told, forms)
    checkpoints = Checkpoints(tmp_path / "two")
    newest = checkpoints.latest()
    assert newest.tensors["model.encoder.nodes.entities"].shape == (25, 8)
    piece = checkpoints.folder / f"{newest.number:06}.1.safetensors"
    content = piece.read_bytes()
    piece.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert checkpoints.latest().number == newest.number - 1  # it is seen, and skipped
    piece.unlink()
    assert Checkpoints(tmp_path / "two").latest().number == newest.number - 1
    piece.write_bytes(content)
    assert resumed(tmp_path / "two") == resumed_alone(tmp_path / "one")


@pytest.mark.slow
def test_more_processes_take_up_what_one_has_begun(tmp_path: Path) -> None:
    whole = resumed_alone(tmp_path / "one")
    trained(tmp_path / "begun", 3)
    for found in together(3, resumed, tmp_path / "begun"):
        assert found == whole
    assert (tmp_path / "begun" / "manifest.json").is_file()


def test_a_part_of_the_columns_gives_its_part_of_the_softmax() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(6, 40, dtype=torch.float64, generator=generator) * 3
    counts = torch.tensor([2, 1, 0, 3, 4, 1])
    offsets = torch.cat([torch.zeros(1).long(), counts.cumsum(0)])
    answers = torch.cat([torch.randperm(40, generator=generator)[:n] for n in counts.tolist()])
    targets = Targets(offsets, answers, torch.rand(6, generator=generator))
    for mask, smoothing in ((False, 0.0), (True, 0.0), (False, 0.1), (True, 0.1)):
        slope = scores.clone()
        losses = softmax_loss_(slope, targets, options=SoftmaxOptions(mask, smoothing))
        said: list[torch.Tensor] = []

        def speak(own: torch.Tensor, said: list[torch.Tensor] = said) -> torch.Tensor:
            said.append(own)
            return own[None]

        def hear(_: torch.Tensor, said: list[torch.Tensor] = said) -> torch.Tensor:
            return torch.stack(said)

        for combine in (speak, hear):  # all parts say what they have, then each hears the others
            for columns in (slice(0, 13), slice(13, 13), slice(13, 40)):
                options = SoftmaxOptions(mask, smoothing, Part(columns, 40, 27, combine))
                own = scores[:, columns].clone()
                found = divided_softmax_loss_(own, targets, options=options)
                if combine is hear:
                    torch.testing.assert_close(found, losses)
                    torch.testing.assert_close(own, slope[:, columns])


def test_dropout_of_a_part_is_the_part_of_dropout() -> None:
    x = torch.ones(50, 30)
    whole = dropout(x, 0.3, seed=5, step=0)
    for rows in (slice(0, 7), slice(7, 50), slice(33, 34)):
        part = dropout(x[rows], 0.3, seed=5, step=0, first=rows.start * 30)
        assert torch.equal(part, whole[rows])


@pytest.mark.parametrize(("count", "size"), [(1, 3), (5, 4), (100, 3), (28645, 7), (47155, 2)])
def test_ranges_cover_all_rows_once(count: int, size: int) -> None:
    ranges = [Shard(rank, size, None).rows(count) for rank in range(size)]
    assert [i for rows in ranges for i in range(count)[rows]] == list(range(count))
    items = [Shard(r, 2, None, q, size).turn(count) for q in range(size) for r in range(2)]
    assert [i for rows in items for i in range(count)[rows]] == list(range(count))


def test_numbers_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ConfigError, match="3 processes cannot hold 2 replicas"):
        check_size(3, 2)


def test_a_master_that_does_not_answer_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(free_port()))
    with (
        pytest.raises(StorageError, match="process 1 of 2 found no team"),
        joined(1, 2, seconds=1.0),
    ):
        pass
