"""Predict whole files: block by block, in bounded memory, resumable."""
