-- The same over a table, which may be kept whole; regression and shape of numbers.
CREATE TABLE points (k STRING, x DOUBLE, y INT);
INSERT INTO points VALUES ('a', 1, 2), ('a', 2, 4), ('b', 3, 5), ('a', NULL, 7), ('b', 6, NULL);

SELECT k, array_agg(y ORDER BY x DESC NULLS LAST) AS ys, array_agg(DISTINCT k) AS ks, regr_slope(y, x) AS slope,
       regr_count(y, x) AS n, corr(y, x) AS r, covar_samp(y, x) AS c, regr_avgx(y, x) AS mean, skewness(y) AS skew,
       kurtosis(x) AS kurt, latest_by_offset(y, 2) AS newest
FROM points GROUP BY k
