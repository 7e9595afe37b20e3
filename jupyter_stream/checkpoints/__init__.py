"""Checkpoints of the kernel's queries: what a query needs to go on where it was when its process ended, however that came about.

A **cut** is taken between two batches, when nothing is under way in the query: how far each source has been taken, what every
operator keeps, the answers, late rows and errors so far, and the rows that its sinks have not committed yet. It is written by a
thread of its own; once it is on disk, the sinks commit what was cut, each under the cut's number, and nothing else. A process
may be killed at any moment: what a cut on disk has is never read again, and what the sinks have beyond it is nothing. Started
again, the query takes up the last cut, asks each sink for the number of its last commit, and has it commit the cut's rows only
where that is missing.

Why a snapshot, rather than reading again what operators still need. Reading again must stop somewhere, and a relation, a join
without bounds or a running count need all there ever was; answers given twice must be told apart from new ones, and which
answers are given (snapshots, changes) hangs on how rows come in batches. A snapshot is right for every operator, those to come
too, as long as it knows nothing of any: `state.py` walks what a query's text has made, whatever that is.

What it costs. Taking one stops the query for a copy of its arrays (frames are never changed, so they are kept as they are) and
for pickling the rest: 35 to 440 ms for each 100 MB of dense state, measured beside other work on both cores. Rows on their way
to a sink are written twice, and come to it once a cut, every 10 s. A query with a checkpoint reads its sources alone and shares
no operators with others.

`state.py` takes state out of operators and puts it back; `store.py` keeps it on disk, signed with the user's key (`signing.py`),
since it is pickled; `identity.py` says which query a checkpoint belongs to; `folders.py` has one process at a time use it. When
cuts are taken is the engine's business.
"""
