"""Synopses: what operators remember. Each reports its bytes and can check itself."""
