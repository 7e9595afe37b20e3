-- CQL: how many of each client's 10 newest requests to stanford.edu went to the server of its CS department.
CREATE STREAM Requests (client_id INT, domain STRING, URL STRING, at TIMESTAMP) ORDER BY at SOURCE 'file://inputs/requests.csv';

Select Count(*)
From Requests S
[Partition By S.client_id
Rows 10 Preceding
Where S.domain = ‘stanford.edu’]
Where S.URL Like ‘http://cs.stanford.edu/%’
