"""tokendraw draws one token from each row of logits, on the GPU, and exactly.

The token of a row is a function of its logits, its parameters, its seed and its
step: not of the batch, the tiles or the run. SPEC.md in the repository defines it to
the last bit, and the Go packages draw the same tokens on a CPU.

    draws = tokendraw.sample(logits, temperature=0.8, top_p=0.95, seed=seeds, step=steps)
    draws.token  # int32 [rows]

sample is a function without state, which torch.compile accepts. Sampler keeps
requests in slots and its memory between steps, for decode loops and CUDA graphs.
"""

from ._launch import Draws
from ._sample import sample
from ._sampler import Sampler

OK = 0
"""A token was drawn."""
NAN = 1
"""A logit was NaN; a token was drawn from the others."""
NO_CANDIDATE = 2
"""Nothing can be drawn; the token is -1."""
INVALID_PARAMS = 3
"""A parameter on the device is outside its interval; the token is -1."""

__version__ = "0.1.0"
__all__ = ["INVALID_PARAMS", "NAN", "NO_CANDIDATE", "OK", "Draws", "Sampler", "sample"]
