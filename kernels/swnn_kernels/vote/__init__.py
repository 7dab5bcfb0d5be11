"""The neighbours' labels vote."""
