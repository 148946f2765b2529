import os
import sys
from pathlib import Path

# Triton decides at its import whether a kernel is compiled or interpreted.
os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))

from kernels.tests import interpreting  # noqa: E402

interpreting.install()
