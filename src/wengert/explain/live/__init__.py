"""The page's own recomputation: values and derivatives as JavaScript, written from the rules of the table."""
