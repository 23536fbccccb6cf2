"""The traces as tables: numbers, names, formulas, and the forms that they are printed in."""
