"""The modes: how each class of values runs the operations of the table."""
