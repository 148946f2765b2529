"""The check on a GPU as a test, without the rows that need a file of expectations."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "kernels" / "gpu_check.py"


@pytest.mark.gpu
@pytest.mark.parametrize("section", ("loop", "chi2", "fuzz", "captured"))
def test_section(section):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    done = subprocess.run(
        [sys.executable, str(CHECK), "--sections", section, "--no-compile", "--limit", "300"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
