"""The `swnn` command: the library from a shell, one file per command."""
