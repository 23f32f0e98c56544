"""Where a run computes: the device of its settings, found once."""

import torch

from hyperfact.errors import ConfigError


def device_of(name: str, *, precision: str = "float32") -> torch.device:
    """The device that a setting names; `auto` is CUDA where there is one, else the CPU.

    Raises:
        ConfigError: This machine has no such device, or the device no such precision.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    count = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": _mps_devices()}[device.type]
    if (device.index or 0) >= count:
        found = f"has {count}" if count else "has none"
        raise ConfigError(f"training.device = {name!r}: this machine {found} of that kind")
    if device.type == "mps" and precision == "float64":
        raise ConfigError("training.device = 'mps': there are no numbers of training.precision")
    return device


def _mps_devices() -> int:
    return int(torch.backends.mps.is_available())
