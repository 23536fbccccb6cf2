"""Calls of compiled functions: signatures, captured constants, transforms, reports."""
