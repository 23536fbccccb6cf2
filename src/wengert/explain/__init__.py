"""How a derivative is computed: recorded line by line, shown as tables, pictures and pages."""
