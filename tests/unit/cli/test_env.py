import json

import pytest

from hyperfact import __version__
from hyperfact.cli import main


def test_env_tells_what_a_bug_report_needs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["env", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["hyperfact"] == __version__
    assert found["threads"] >= 1
    assert found["torch"][0].isdigit()
    with pytest.raises(SystemExit):
        main(["env"])
    assert "fast bfloat16" in capsys.readouterr().out
