"""Which of several processes this is: what torchrun writes into the environment."""

import os

from hyperfact.errors import ConfigError

LAUNCHED = "HYPERFACT_LAUNCHED"


def rank() -> int:
    """The number of this process, from 0."""
    return _number("RANK", 0)


def members() -> int:
    """How many processes there are; 1: this one works alone."""
    return _number("WORLD_SIZE", 1)


def local_members() -> int:
    """How many of them run on this machine."""
    return max(1, _number("LOCAL_WORLD_SIZE", 1))


def restarts() -> int:
    """How often torchrun has started this process again."""
    return _number("TORCHELASTIC_RESTART_COUNT", 0)


def attempt() -> int:
    """The same in all processes: how often those of one machine were started again.

    Several machines find each other anew each time, and each counts for itself.
    """
    return restarts() if _number("GROUP_WORLD_SIZE", 1) == 1 else 0


def is_follower() -> bool:
    """Whether another process writes and speaks."""
    return members() > 1 and rank() > 0


def is_launched() -> bool:
    """Whether our own command has started this process, and will say what became of all."""
    return os.environ.get(LAUNCHED) == "1"


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isdecimal():
        raise ConfigError(f"{name} in the environment is {text!r}, no number of processes")
    return int(text)
