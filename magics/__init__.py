"""Magics: parse the line, call the session, display."""
