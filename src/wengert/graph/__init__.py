"""Programs as data. The printers of a graph are loaded when they are first used."""
