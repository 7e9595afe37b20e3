"""What an operator is, and those that keep next to nothing: rows in, rows out, time as it comes."""
