"""Programs for other machines and languages."""
