"""The page: graph, table and program side by side, as one HTML file."""
