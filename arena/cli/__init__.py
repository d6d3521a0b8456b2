"""Commands, exit codes, rendering."""
