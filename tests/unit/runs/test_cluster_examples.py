"""The files for clusters are what their programs accept, as far as syntax tells."""

import shutil
import subprocess

import pytest

from tests.support import ROOT

FOLDER = ROOT / "examples" / "cluster"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_batch_file_is_bash_with_directives_first() -> None:
    path = FOLDER / "train.sbatch"
    subprocess.run(["bash", "-n", str(path)], check=True)
    lines = path.read_text(encoding="utf-8").splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert all(line.startswith("#") for line in lines[: last + 1])  # Slurm reads no further
    assert "-m hyperfact" in path.read_text(encoding="utf-8")


def test_the_job_is_yaml_whose_parts_fit() -> None:
    yaml = pytest.importorskip("yaml")
    content = (FOLDER / "train.yaml").read_text(encoding="utf-8")
    service, job = yaml.safe_load_all(content)
    assert (service["kind"], job["kind"]) == ("Service", "Job")
    pod = job["spec"]["template"]["spec"]
    words = pod["containers"][0]["args"]
    assert f"--nnodes={job['spec']['completions']}" in words
    assert pod["subdomain"] == service["metadata"]["name"]
    mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
