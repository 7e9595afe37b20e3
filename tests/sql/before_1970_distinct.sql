-- Before 1970 as after it: a value leaves 30 seconds after the last row that has it.
CREATE STREAM d (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/before_1970.csv';

SELECT DSTREAM DISTINCT k FROM d [RANGE 30 SECONDS]
