"""How each kind of value runs the table, one mode a file."""
