-- Without FROM, today is a value too: with parentheses or without.
SELECT typeof(CURRENT_DATE) AS day, typeof(current_date()) AS the_same, typeof(CURRENT_TIMESTAMP - INTERVAL 1 DAY) AS time
