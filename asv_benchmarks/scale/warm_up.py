"""Let numba compile and keep the kernels, so that the measured processes only load them."""

from __future__ import annotations

from swnn_kernels import warmup

if __name__ == "__main__":
    warmup()
