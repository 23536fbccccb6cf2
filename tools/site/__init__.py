"""What `make docs` adds to the pages of docs/: navigation, generated pages, notebooks, formulas, explanations."""
