"""A fitted model at one moment, how the next one is made, and what users ask of it."""
