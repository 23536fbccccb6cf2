"""The program as data: nodes, graphs, passes, and what they look like."""
