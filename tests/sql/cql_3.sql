-- CQL: a 10% sample of requests to commercial sites, and from those the URLs of some clients. Which rows are kept follows
-- from their numbers and the seed alone.
CREATE STREAM Requests (client_id INT, domain STRING, URL STRING, at TIMESTAMP) ORDER BY at SOURCE 'file://inputs/proxy.csv' WITH (seed = '3');
CREATE TABLE Domains (domain STRING, type STRING) SOURCE 'file://inputs/domains.csv';

Select T.URL
From
(Select client_id, URL
From Requests S, Domains R
Where S.domain = R.domain
And R.type = ’commerce’) T Sample(10)
Where T.client_id Between 1 And 1000
