"""The `swnn` command: `main` lists its commands; a file has one, or those of one subject."""
