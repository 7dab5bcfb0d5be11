"""Any matrix becomes canonical rows, then quantised rows of unit length."""
