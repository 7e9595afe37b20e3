"""Rows that come and go: aggregates, joins, sets and top-n of relations, with what they keep, as changes in and changes out."""
