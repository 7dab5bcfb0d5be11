"""Learned SWNN: the vote finds the labels that can matter, a ranker learns what it gets wrong."""
