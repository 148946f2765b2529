"""The Triton kernels of tokendraw, a file per stage."""
