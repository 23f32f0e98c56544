import subprocess
import sys

import hyperfact


def test_the_public_names_are_sorted_complete_and_there() -> None:
    names = list(hyperfact._PUBLIC)
    assert names == sorted(names)
    assert sorted(hyperfact.__all__) == names
    for name in names:
        assert getattr(hyperfact, name).__module__.startswith(hyperfact._PUBLIC[name]), name
        assert name in dir(hyperfact)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(hyperfact, "nonsense")


def test_importing_is_quiet_and_quick() -> None:
    """No torch, no network, no subprocess, no writing; and well under a second."""
    code = (
        "import sys, time\n"
        "seen = []\n"
        "bad = ('socket.', 'subprocess.', 'os.system', 'urllib.')\n"
        "def hook(event, args):\n"
        "    if event.startswith(bad) or (event == 'open' and args[1] and 'w' in str(args[1])):\n"
        "        seen.append((event, str(args)))\n"
        "sys.dont_write_bytecode = True\n"
        "sys.addaudithook(hook)\n"
        "import hyperfact, hyperfact.graph.facts, hyperfact.graph.hkg, hyperfact.data\n"
        "assert 'torch' not in sys.modules and 'numba' not in sys.modules\n"
        "assert not seen, seen\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
