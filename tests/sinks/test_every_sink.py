"""What every sink found in the room takes: no rows, one, many, NULLs and every type, in each of its modes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks import SINKS, Delivery, SinkWriter, Ties, open_sink
from jupyter_stream.sinks.changes import OP
from jupyter_stream.sinks.protocol import MODES, ROW_ID
from tests.leftovers import shared
from tests.sinks.reading import ALL_TYPES, AS_HELD, alike, duck, files, last_by_key, messages, parquet, sqlite
from tests.sinks.takers import Listener, mqtt, nats, of_postgres, of_redis, postgres, redis, webhook
from tests.tiers import only, thinned
from tests.topics import Kafka
from tests.waiting import PATIENCE

LOG = (Field("op", pl.Int8()), Field("at", pl.Datetime("us")))
MANY = pl.DataFrame({"n": range(100_000), "k": [f"k{i % 97}" for i in range(100_000)]})
ANSWERS = {
    "none": MANY.clear(),
    "one": MANY.head(1),
    "many": MANY,
    "nulls": pl.DataFrame({"n": [None, None], "k": [None, "a"]}, schema=MANY.schema),
    "types": ALL_TYPES,
}


@cache
def broker() -> Kafka:
    with shared() as ends:
        ends.callback(broker.cache_clear)  # it listens while it is there
        return Kafka()


class Given:
    """What a function of the notebook was given."""

    def __init__(self) -> None:
        self.frames: list[pl.DataFrame] = []

    def __call__(self, frame: pl.DataFrame) -> None:
        self.frames.append(frame)


class Place:
    """Where a sink writes to, and how that is read back."""

    def __init__(self, scheme: str, at: Path) -> None:
        self.scheme, self.at, self.given = scheme, at, Given()
        self.topic = at.name
        self._listener = Listener(mqtt(), self.topic) if scheme == "mqtt" else None

    def any(self, answer: pl.DataFrame) -> pl.DataFrame:
        """As much of an answer as such a server takes in short time."""
        most = {"postgresql": 10_000, "mqtt": 500, "nats": 2_000, "redis": 2_000, "https": 2_000}
        return answer.head(most.get(self.scheme, answer.height))

    def uri(self, mode: str) -> str:
        return {
            "file": f"file://{self.at}/a" + ("/state.parquet" if mode == "replace" else "/"),
            "sqlite": f"sqlite://{self.at}/a.db?table=t t",
            "duckdb": f"duckdb://{self.at}/a.db?table=t t",
            "python": "python://given",
            "kafka": f"kafka://{broker().address}/{self.topic}",
            "delta": f"delta://{self.at}/a",
            "postgresql": f"{postgres().address}?table={self.topic}" if self.scheme == "postgresql" else "",
            "redis": f"{redis().address.rpartition('/')[0]}/{self.topic}" if self.scheme == "redis" else "",
            "mqtt": f"{mqtt().address.rpartition('/')[0]}/{self.topic}" if self.scheme == "mqtt" else "",
            "nats": f"{nats().address.rpartition('/')[0]}/kept.{self.topic}" if self.scheme == "nats" else "",
            "https": f"http://127.0.0.1:{webhook().port}/{self.topic}",
        }[self.scheme]

    def read(self, like: pl.DataFrame) -> pl.DataFrame:
        if self.scheme == "file":
            return parquet(self.at / "a") if files(self.at / "a", "*.parquet") else like.clear()
        if self.scheme == "sqlite":
            return sqlite(self.at / "a.db", "t t", like)
        if self.scheme == "duckdb":
            return duck(self.at / "a.db", "t t", like)
        if self.scheme == "kafka":
            return pl.DataFrame(
                {"raw": [v for _, v in last_by_key(messages(broker(), self.topic))]}, {"raw": pl.String}
            )
        if self.scheme == "postgresql":
            return of_postgres(self.topic, like)
        if self.scheme == "redis":
            return of_redis(self.topic, like)
        if self.scheme in ("mqtt", "nats", "https"):
            return pl.DataFrame({"raw": self._texts()}, {"raw": pl.String})
        if self.scheme == "delta":
            return pl.from_arrow(DeltaTable(self.at / "a").to_pyarrow_table())
        return pl.concat([like.clear(), *(f.drop(ROW_ID, strict=False) for f in self.given.frames)])

    def _texts(self) -> list[str]:
        if self._listener is not None:
            return [value for value, _ in self._listener.all()]
        if self.scheme == "nats":
            return [value for value, _ in nats().kept(f"kept.{self.topic}")]
        rows = [{n: v for n, v in row.items() if n != ROW_ID} for row in webhook().rows(f"/{self.topic}")]
        return [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows]

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def held(self, frame: pl.DataFrame) -> pl.DataFrame:
        return AS_HELD.get(self.scheme, lambda f: f)(frame)


@pytest.fixture(params=[c.scheme for c in SINKS])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = Place(request.param, tmp_path)
    yield made
    made.close()


def opened(place: Place, answer: pl.DataFrame, mode: str, **options: str) -> Delivery:
    return open_sink(
        None,
        place.uri(mode),
        {"mode": mode, **options},
        {"given": place.given},
        Schema.from_frame(answer),
        relation=mode in ("changes", "replace"),
        log=LOG,
    )


def written(order: Delivery, frames: list[pl.DataFrame], nothing: pl.DataFrame, **ties: object) -> SinkWriter:
    writer = SinkWriter(order, Ties(most=10**9, nothing=nothing, **ties))
    for frame in frames:
        writer.put(frame)
    writer.end(patient=True)
    assert writer.done.wait(PATIENCE)
    assert writer.error is None
    return writer


def modes_of(scheme: str) -> Iterator[str]:
    return iter(next(c for c in SINKS if c.scheme == scheme).modes)


@pytest.mark.parametrize("which", only(ANSWERS, "nulls"))
def test_a_sink_takes_any_answer_as_it_is(place: Place, which: str) -> None:
    answer = place.any(ANSWERS[which])
    half = answer.height // 2
    writer = written(opened(place, answer, "append"), [answer[:half], answer[half:]], answer.clear())
    assert writer.written == answer.height and writer.refused == 0
    assert alike(place.read(answer), place.held(answer))


@pytest.mark.parametrize("which", only(ANSWERS, "types"))
def test_a_change_log_has_op_and_at(place: Place, which: str) -> None:
    if "changes" not in modes_of(place.scheme):
        pytest.skip("it takes none")
    answer = place.any(ANSWERS[which].head(50_000))
    time = pl.lit(0).cast(pl.Datetime("us")).alias("at")
    log = pl.concat([answer.with_columns(pl.lit(op, pl.Int8).alias("op"), time) for op in (1, -1)])
    written(opened(place, answer, "changes"), [log], log.clear())
    assert alike(place.read(log), place.held(log))


@pytest.mark.parametrize("which", only(ANSWERS, "types"))
def test_a_state_is_replaced_as_a_whole(place: Place, which: str) -> None:
    if "replace" not in modes_of(place.scheme):
        pytest.skip("it doesn't")
    answer, states = place.any(ANSWERS[which]), []
    writer = SinkWriter(
        opened(place, answer, "replace"), Ties(most=10**9, nothing=answer.clear(), state=lambda: states[-1])
    )
    for state in (answer.head(2), answer):
        states.append(state)
        writer.put(state)
        assert writer.settle(PATIENCE)
    writer.end(patient=True)
    assert writer.done.wait(PATIENCE) and writer.error is None
    last = place.given.frames[-1:] if place.scheme == "python" else None
    place.given.frames = last or []
    assert alike(place.read(answer), place.held(answer))


@pytest.mark.parametrize("key", only(["k", "n, k"], "n, k"))
def test_rows_take_the_place_of_others_with_their_key_and_leave(place: Place, key: str) -> None:
    if "upsert" not in modes_of(place.scheme):
        pytest.skip("it can't")
    schema = {"k": pl.String, "n": pl.Int64, "v": pl.Float64, OP: pl.Int8}
    first = pl.DataFrame(
        [("a", 1, 1.0, 1), (None, 2, 2.0, 1), ("b", None, 3.0, 1), ("c", 4, 4.0, 1)], schema, orient="row"
    )
    then = pl.DataFrame(  # the new row may come before the old one leaves, and what comes and goes is nothing
        [("a", 1, 9.0, 1), ("a", 1, 1.0, -1), (None, 2, 2.0, -1), ("c", 4, 4.0, -1), ("c", 4, 4.0, 1), ("d", 5, 5.0, 1),
         ("d", 5, 5.0, -1)], schema, orient="row")  # fmt: skip
    without = [None] if place.scheme in ("kafka", "redis") else []  # what has no key takes no other's place
    first, then = (f.filter(pl.lit(not without) | pl.col("k").is_not_null()) for f in (first, then))
    answer = first.drop(OP)
    order = opened(place, answer, "upsert", key=key)
    writer = SinkWriter(order, Ties(most=10**9, nothing=first.clear()))
    writer.put(first)
    assert writer.settle(PATIENCE)
    assert alike(place.read(answer), place.held(answer))
    writer.put(then)
    writer.end(patient=True)
    assert writer.done.wait(PATIENCE) and writer.error is None
    left = [("a", 1, 9.0), ("b", None, 3.0), ("c", 4, 4.0)]
    assert alike(place.read(answer), place.held(pl.DataFrame(left, answer.schema, orient="row")))
    assert writer.written == 4 + 2 - 2 * len(without)


def test_two_rows_with_one_key_are_told(place: Place) -> None:
    if "upsert" not in modes_of(place.scheme):
        pytest.skip("it can't")
    rows = pl.DataFrame({"k": ["a", "a", "b"], "n": [1, 2, 3], OP: pl.Series([1, 1, 1], dtype=pl.Int8)})
    told: list[pl.DataFrame] = []
    order = replace(opened(place, rows.drop(OP), "upsert", key="k"), grows=False)
    writer = written(order, [rows], rows.clear(), refused=told.append)
    assert writer.refused == 1 and writer.written == 2
    assert told[0].rows() == [('{"k":"a","n":1}', "another row has the same key (k)")]


@pytest.mark.parametrize("counts", thinned([[2, 3, 2], [1, 2, 3], [5, 5]]))
def test_of_an_answer_that_grows_the_newest_row_of_a_key_stays(place: Place, counts: list[int]) -> None:
    if "upsert" not in modes_of(place.scheme):
        pytest.skip("it can't")
    keys = ["a"] * len(counts)
    rows = pl.DataFrame({"k": ["b", *keys], "n": [9, *counts], OP: pl.Series([1, *[1] * len(counts)], dtype=pl.Int8)})
    order = opened(place, rows.drop(OP), "upsert", key="k")
    writer = written(order, [rows[:2], rows[2:]], rows.clear())
    assert (writer.refused, writer.written) == (0, 2)
    left = pl.DataFrame({"k": ["b", "a"], "n": [9, counts[-1]]})
    assert alike(place.read(left), place.held(left))


def test_a_position_is_kept_with_the_rows(place: Place) -> None:
    answer = MANY.head(3)
    order = opened(place, answer, "append")
    assert order.sink.committed() is None
    written(order, [answer], answer.clear(), position=lambda: "at 7", after=6)
    expected = None if order.promise == "at least once" else (7, "at 7")
    assert order.sink.committed() == expected


def test_each_says_what_it_is() -> None:
    for connector in SINKS:
        assert connector.example.startswith(connector.scheme + "://")
        assert "append" in connector.modes and set(connector.modes) <= set(MODES)
        assert all(name == name.lower() and text for name, text in connector.options.items())
        assert connector.how and connector.promise in ("exactly once", "at least once")


def test_what_a_sink_cannot_do_names_one_that_can(place: Place) -> None:
    for mode in set(MODES) - set(modes_of(place.scheme)):
        with pytest.raises(SinkError, match=f"{place.scheme}:// can't") as told:
            opened(place, MANY, mode)
        able = [c.scheme for c in SINKS if mode in c.modes]
        assert all(f"{scheme}://" in str(told.value) for scheme in able)
