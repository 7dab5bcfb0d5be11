"""Extreme multi-label classification by sparse weighted nearest neighbours."""
