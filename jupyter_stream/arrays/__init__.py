"""Arrays of numbers: orders, folds over ranges, exact sums, two threads. Nobody's rows in particular."""
