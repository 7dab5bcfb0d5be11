"""Neighbours vote for their labels, and the best labels win: array API only."""
