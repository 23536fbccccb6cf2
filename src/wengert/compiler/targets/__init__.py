"""Programs for GPUs: the same graphs, schedules and elements, with one element for each thread."""
