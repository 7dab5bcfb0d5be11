"""The `swnn` command: the library from a shell, one file a command."""
