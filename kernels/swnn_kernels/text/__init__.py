"""Text to numbers and rows: the part of parsing that is worth compiling."""
