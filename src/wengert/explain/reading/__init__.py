"""What is typed on the command line: formulas, arguments, files."""
