-- Rows with equal values that take each other's place at one instant neither leave nor enter.
CREATE STREAM d (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://inputs/before_1970.csv';

CREATE VIEW v AS SELECT k FROM d [RANGE 90 SECONDS] EXCEPT ALL ON (k) SELECT k FROM d [RANGE 90 SECONDS] WHERE n = 3
