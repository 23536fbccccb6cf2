"""Statistics, histograms, sets, sorting, and random draws."""
