"""Operators: a frozen configuration, a small state, two functions from message to messages. One per file."""
