"""How operations are written as JavaScript, one file for each family."""
