-- CQL: requests for pages from stanford.edu in the last day. A relation of one row.
CREATE STREAM Requests (client_id INT, domain STRING, URL STRING, at TIMESTAMP) ORDER BY at SOURCE 'file://inputs/requests.csv';

Select Count(*)
From Requests S [Range 1 Day Preceding]
Where S.domain = ‘stanford.edu’
