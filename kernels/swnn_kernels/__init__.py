"""The loops of swnn_xp: numba for the CPU, CUDA sources for the GPU. Knows nothing of swnn_xp."""
