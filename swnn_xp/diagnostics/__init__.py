"""Check a device and time single answers."""
