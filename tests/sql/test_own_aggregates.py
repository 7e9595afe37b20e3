"""What aggregates of one's own are for (ESL, §4, §6.1, §7): each example's answers beside those of a few lines of Python."""

from __future__ import annotations

import math
import random
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.functions.hashing import hashed
from jupyter_stream.session.session import Session
from tests.tiers import slow

START = datetime(2024, 1, 1)
Answer = Callable[..., pl.DataFrame]


@pytest.fixture
def answer() -> Iterator[Answer]:
    """The answer of statements, the query last, over rows with these columns at these seconds."""
    opened: list[Session] = []

    def ask(text: str, /, seconds: Sequence[float], **columns: Sequence[Any]) -> pl.DataFrame:
        times = pl.Series("ts", [START + timedelta(seconds=s) for s in seconds], dtype=pl.Datetime("us"))
        session = Session({"rows": pl.DataFrame([times, *(pl.Series(n, c) for n, c in columns.items())])})
        opened.append(session)
        session.run("CREATE STREAM s ORDER BY ts SOURCE 'frame://rows'")
        query = session.execute(text)[-1]
        query.wait(200)
        assert query.status == "finished", query.snapshot().error
        assert query.errors.is_empty()
        return query.to_polars()

    yield ask
    for session in opened:
        session.close()


def of_paper(example: int) -> str:
    """The aggregate of an example, as the paper prints it."""
    text = (Path(__file__).parent / f"esl_{example}.sql").read_text()
    begin = text.index("CREATE AGGREGATE" if "CREATE AGGREGATE" in text else "AGGREGATE")
    return text[begin : text.index("};", begin) + 2] if "};" in text[begin:] else text[begin:]


def test_readings_less_than_three_seconds_apart_are_a_group(answer: Answer) -> None:
    dice = random.Random(17)
    times = sorted(dice.sample(range(200), 60))
    found = answer(
        of_paper(17) + "SELECT grouped(tag, ts).grp AS g FROM s", times, tag=[dice.randrange(5) for _ in times]
    )
    expected, group = [], 1
    for i, time in enumerate(times):
        group += i > 0 and time - times[i - 1] > 3
        expected.append(group)
    assert found["g"].to_list() == expected


def test_an_item_guarded_before_or_after_raises_no_alarm(answer: Answer) -> None:
    dice = random.Random(18)
    times = sorted(dice.sample(range(400), 90))
    kinds = [dice.choice(["item", "item", "ap", "cart"]) for _ in times]
    found = answer(
        of_paper(18) + "SELECT tag, item_alarm(tag, kind, ts) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION) AS a FROM s",
        times, tag=list(range(90)), kind=kinds,
    )  # fmt: skip
    guards = [t for t, k in zip(times, kinds, strict=True) if k == "ap"]
    stolen = [
        i
        for i, (t, k) in enumerate(zip(times, kinds, strict=True))
        if k == "item" and all(abs(t - g) > 5 for g in guards)
    ]
    assert sorted(found["tag"].to_list()) == stolen
    assert 5 < len(stolen) < 40


PRIORITY = """
CREATE WINDOW AGGREGATE sampled (x BIGINT, p DOUBLE) : (x BIGINT, kept BIGINT)
{ TABLE inwindow (wx BIGINT, wp DOUBLE);
  TABLE kept (kx BIGINT, kp DOUBLE, above INT);
  INITIALIZE : ITERATE : {
    UPDATE kept SET above = above + 1 WHERE kp < p;
    DELETE FROM kept WHERE above >= 3;
    INSERT INTO kept VALUES (x, p, 0); }
  TERMINATE : { INSERT INTO RETURN SELECT kx, (SELECT count(*) FROM kept) FROM kept ORDER BY kp DESC LIMIT 3; }
  EXPIRE : { DELETE FROM kept WHERE kx = oldest().wx AND kp = oldest().wp; } };
"""


def test_priority_sampling_gives_the_highest_of_a_window_and_keeps_few_rows(answer: Answer) -> None:
    count, window, size = 600, 100, 3
    over = f"sampled(n, r) OVER (ROWS {window - 1} PRECEDING)"
    found = answer(
        f"{PRIORITY} SELECT n, r, {over}.x AS x, {over}.kept AS kept FROM (SELECT n, ts, rand() AS r FROM s) q",
        list(range(count)),
        n=list(range(count)),
    )
    priority = dict(found.select("n", "r").iter_rows())
    got = found.group_by("n").agg("x", pl.col("kept").first())
    for n, chosen, _ in got.iter_rows():
        within = range(max(0, n - window + 1), n + 1)
        assert sorted(chosen) == sorted(sorted(within, key=lambda i: -priority[i])[:size])
    kept = got.filter(pl.col("n") >= window)["kept"].to_list()
    expected = sum(
        min(1.0, size / i) for i in range(1, window + 1)
    )  # the i-th newest is among the 3 highest since it came
    assert abs(statistics.mean(kept) - expected) < 0.15 * expected


SKETCH = """
CREATE WINDOW AGGREGATE often (x STRING) : BIGINT
{ TABLE inwindow (wx STRING);
  TABLE functions (i INT);
  TABLE cells (i INT, h BIGINT, n BIGINT);
  INITIALIZE : {
    INSERT INTO functions VALUES (1), (2), (3);
    INSERT INTO cells SELECT i, hash(x, i) % 32, 1 FROM functions; }
  ITERATE : {
    UPDATE cells SET n = n + 1 WHERE h = hash(x, i) % 32;
    INSERT INTO cells SELECT f.i, hash(x, f.i) % 32, 1 FROM functions f
      WHERE NOT EXISTS (SELECT 1 FROM cells c WHERE c.i = f.i AND c.h = hash(x, f.i) % 32); }
  TERMINATE : { INSERT INTO RETURN SELECT min(n) FROM cells WHERE h = hash(x, i) % 32; }
  EXPIRE : { UPDATE cells SET n = n - 1 WHERE h = hash(oldest().wx, i) % 32; } };
"""


@slow
def test_frequent_items_by_hash_tables_are_never_counted_too_low(answer: Answer) -> None:
    dice = random.Random(5)
    words = [f"w{int(dice.paretovariate(0.8)) % 60}" for _ in range(300)]
    found = answer(
        SKETCH + "SELECT n, w, often(w) OVER (ROWS 79 PRECEDING) AS c FROM s",
        list(range(300)), n=list(range(300)), w=words,
    )  # fmt: skip
    window: deque[str] = deque(maxlen=80)
    for (n, word, counted), own in zip(found.sort("n").iter_rows(), words, strict=True):
        window.append(own)
        cells = [sum(hashed(w, i) % 32 == hashed(word, i) % 32 for w in window) for i in (1, 2, 3)]
        assert word == own and counted == min(cells), n
        assert counted >= window.count(word)


ONES = """
CREATE AGGREGATE ones (bit INT, place BIGINT, size BIGINT) : DOUBLE
{ TABLE buckets (newest BIGINT, n BIGINT);
  INITIALIZE : ITERATE : {
    INSERT INTO buckets VALUES (place, 1) WHERE bit = 1 AND size = 1;
    DELETE FROM buckets WHERE newest <= place - 200;
    INSERT INTO SELF SELECT 0, place, 2 * size WHERE (SELECT count(*) FROM buckets WHERE n = size) > 3;
    UPDATE buckets SET n = 0 WHERE n = size AND (SELECT count(*) FROM buckets b WHERE b.n = size) > 3
      AND newest = (SELECT min(b.newest) FROM buckets b WHERE b.n = size);
    UPDATE buckets SET n = 2 * size WHERE n = size AND EXISTS (SELECT 1 FROM buckets b WHERE b.n = 0)
      AND newest = (SELECT min(b.newest) FROM buckets b WHERE b.n = size);
    DELETE FROM buckets WHERE n = 0;
    INSERT INTO RETURN SELECT c FROM (SELECT coalesce(sum(n) - (max(n) - 1) / 2, 0) AS c FROM buckets) q WHERE size = 1; } };
"""


def test_datars_count_of_ones_is_within_its_bound(answer: Answer) -> None:
    dice = random.Random(3)
    bits = [int(dice.random() < 0.4) for _ in range(700)]
    found = answer(f"{ONES} SELECT ones(bit, n, 1) AS c FROM s", list(range(700)), n=list(range(700)), bit=bits)
    errors = []
    window: deque[int] = deque(maxlen=200)
    for bit, estimated in zip(bits, found["c"].to_list(), strict=True):
        window.append(bit)
        errors.append(abs(estimated - sum(window)) / max(1, sum(window)))
    assert max(errors) <= 0.25
    assert max(errors) > 0.02


SERIES = """
CREATE AGGREGATE smoothed (x DOUBLE, a DOUBLE) : DOUBLE
{ TABLE state (v DOUBLE);
  INITIALIZE : { INSERT INTO state VALUES (x); INSERT INTO RETURN VALUES (x); }
  ITERATE : { UPDATE state SET v = a * x + (1 - a) * v; INSERT INTO RETURN SELECT v FROM state; } };
CREATE AGGREGATE linear (x DOUBLE) : DOUBLE
{ TABLE newest (v DOUBLE, age INT);
  INITIALIZE : ITERATE : {
    UPDATE newest SET age = age + 1;
    DELETE FROM newest WHERE age >= 4;
    INSERT INTO newest VALUES (x, 0);
    INSERT INTO RETURN SELECT sum(v * (4 - age)) / sum(4 - age) FROM newest; } };
CREATE AGGREGATE unusual (x DOUBLE, z DOUBLE) : DOUBLE
{ TABLE seen (n INT, mean DOUBLE, m2 DOUBLE);
  INITIALIZE : { INSERT INTO seen VALUES (1, x, 0); }
  ITERATE : {
    INSERT INTO RETURN SELECT x FROM seen WHERE n > 10 AND abs(x - mean) > z * sqrt(m2 / n);
    UPDATE seen SET n = n + 1, mean = mean + (x - mean) / (n + 1), m2 = m2 + (x - mean) * (x - mean) * n / (n + 1); } };
CREATE FUNCTION letter (z DOUBLE) : STRING AS CASE WHEN z < -0.43 THEN 'a' WHEN z < 0.43 THEN 'b' ELSE 'c' END;
CREATE AGGREGATE sax (x DOUBLE) : STRING
{ TABLE held (v DOUBLE, i INT);
  INITIALIZE : { INSERT INTO held VALUES (x, 0); }
  ITERATE : { INSERT INTO held SELECT x, max(i) + 1 FROM held; }
  TERMINATE : {
    INSERT INTO RETURN SELECT string_agg(letter((part.v - whole.m) / whole.s))
      FROM (SELECT i div 4 AS part, avg(v) AS v FROM held GROUP BY i div 4) part,
           (SELECT avg(v) AS m, stddev_pop(v) AS s FROM held) whole; } };
"""


def series() -> list[float]:
    dice = random.Random(7)
    values = [math.sin(i / 5) * 3 + dice.gauss(0, 1) for i in range(120)]
    values[60], values[90] = 40.0, -35.0
    return values


def test_averages_that_forget(answer: Answer) -> None:
    values = series()
    found = answer(SERIES + "SELECT smoothed(x, 0.2) AS v FROM s", list(range(120)), x=values)["v"].to_list()
    linear = answer(SERIES + "SELECT linear(x) AS v FROM s", list(range(120)), x=values)["v"].to_list()
    state = values[0]
    for i, x in enumerate(values):
        state = 0.2 * x + 0.8 * state if i else x
        assert found[i] == pytest.approx(state)
        weighted = [(x, 4 - age) for age, x in enumerate(values[i::-1][:4])]
        assert linear[i] == pytest.approx(sum(x * w for x, w in weighted) / sum(w for _, w in weighted))


def test_values_far_from_the_mean_are_told(answer: Answer) -> None:
    values = series()
    found = answer(SERIES + "SELECT unusual(x, 3.0) AS v FROM s", list(range(120)), x=values)["v"].to_list()
    expected = [
        x
        for i, x in enumerate(values)
        if i > 10 and abs(x - statistics.fmean(values[:i])) > 3 * statistics.pstdev(values[:i])
    ]
    assert found == expected
    assert {40.0, -35.0} <= set(expected)


def test_sax_words(answer: Answer) -> None:
    values = series()
    found = answer(SERIES + "SELECT sax(x) AS w FROM s [RANGE 40 SECONDS TUMBLING]", list(range(120)), x=values)
    expected = []
    for part in (values[:40], values[40:80], values[80:]):
        mean, spread = statistics.fmean(part), statistics.pstdev(part)
        scores = [(statistics.fmean(part[i : i + 4]) - mean) / spread for i in range(0, 40, 4)]
        expected.append("".join("a" if z < -0.43 else "b" if z < 0.43 else "c" for z in scores))
    assert found.sort("window_start")["w"].to_list() == expected


XML = """
CREATE TABLE path (step INT, tag STRING);
INSERT INTO path VALUES (1, 'shop'), (2, 'item'), (3, 'price');
CREATE AGGREGATE matched (kind STRING, name STRING, text STRING) : STRING
{ TABLE automaton (depth INT, state INT);
  INITIALIZE : { INSERT INTO automaton VALUES (0, 0) ; INSERT INTO SELF VALUES (kind, name, text); }
  ITERATE : {
    UPDATE automaton SET state = state + 1 WHERE kind = 'start' AND state = depth
      AND name = (SELECT tag FROM path WHERE step = depth + 1);
    UPDATE automaton SET depth = depth + 1 WHERE kind = 'start';
    INSERT INTO RETURN SELECT text FROM automaton WHERE kind = 'text' AND state = depth AND state = 3;
    UPDATE automaton SET state = least(state, depth - 1), depth = depth - 1 WHERE kind = 'end'; } };
"""


def test_an_automaton_follows_a_path_of_xml(answer: Answer) -> None:
    dice, events = random.Random(11), []
    expected: list[str] = []

    def element(tags: list[str]) -> None:
        events.append(("start", tags[-1], ""))
        for i in range(dice.randrange(4)):
            if dice.random() < 0.4:
                text = f"{len(events)}.{i}"
                events.append(("text", "", text))
                if tags == ["shop", "item", "price"]:
                    expected.append(text)
            elif len(tags) < 5:
                element([*tags, dice.choice(["item", "price", "shop"])])
        events.append(("end", tags[-1], ""))

    while len(expected) < 5:
        element(["shop"])
    kinds, names, texts = (list(c) for c in zip(*events, strict=True))
    asked = XML + "SELECT matched(kind, name, text) AS t FROM s"
    found = answer(asked, list(range(len(events))), kind=kinds, name=names, text=texts)
    assert found["t"].to_list() == expected


CENTRES = """
CREATE AGGREGATE centre (v DOUBLE) : DOUBLE
{ TABLE centres (x DOUBLE, n INT);
  INITIALIZE : { INSERT INTO centres VALUES (0, 1), (10, 1), (20, 1); INSERT INTO SELF VALUES (v); }
  ITERATE : {
    UPDATE centres SET x = x + (v - x) / (n + 1), n = n + 1
      WHERE abs(x - v) = (SELECT min(abs(c.x - v)) FROM centres c);
    INSERT INTO RETURN SELECT x FROM centres ORDER BY abs(x - v) LIMIT 1; } };
"""


def test_k_means_is_trained_on_the_stream(answer: Answer) -> None:
    dice = random.Random(2)
    values = [dice.gauss(dice.choice([1, 9, 23]), 1) for _ in range(300)]
    found = answer(CENTRES + "SELECT centre(x) AS c FROM s", list(range(300)), x=values)["c"].to_list()
    centres = [[0.0, 1], [10.0, 1], [20.0, 1]]
    for value, own in zip(values, found, strict=True):
        nearest = min(centres, key=lambda c: abs(c[0] - value))
        nearest[0] += (value - nearest[0]) / (nearest[1] + 1)
        nearest[1] += 1
        assert own == pytest.approx(min((c[0] for c in centres), key=lambda c: abs(c - value)))
    assert [round(c) for c, _ in centres] == [1, 9, 23]
