"""How a derivative comes about: recorded line by line, shown as tables, pictures and pages."""
