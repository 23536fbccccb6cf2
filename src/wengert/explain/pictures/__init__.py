"""The graph as a picture: what is drawn, where it lies, and how it is written."""
