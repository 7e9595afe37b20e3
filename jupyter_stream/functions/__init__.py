"""Scalar functions: one table, each row its SQL name, its kernel expression, its Spark SQL."""
