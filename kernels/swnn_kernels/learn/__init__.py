"""Loops of training and ranking: candidates, vote score, label models, scores of candidates."""
