"""What becomes of each row before Spark sees it: which fail, and which are late for what.

Spark ends a query at the first row an expression fails on, and drops late rows without a word. So both are judged here, row
by row, by the kernel's own operators between the stream and its first window; Spark's watermark follows ours and never passes
it, so that what goes on to Spark isn't dropped there. Only late rows, or queries that can fail, cost anything.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.core.messages import BROKEN, LATE_ID, TS, Batch, Failed, Int64s, Missed, ints
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.progress_for_all import ForAll
from jupyter_stream.flow.protocol import Operator
from jupyter_stream.flow.retime import Retime
from jupyter_stream.flow.table_lookup import TableLookup
from jupyter_stream.functions import Column, Expr
from jupyter_stream.plan.keyed import key_of, keys_of_join, promised
from jupyter_stream.plan.logical import Aggregate, Join, Plan, Project, Scan, Union
from jupyter_stream.spark.expressions import SHIFT
from jupyter_stream.spark.failing import can_fail
from jupyter_stream.spark.nodes import SUPPORT
from jupyter_stream.spark.stage import Stage, looked_up_here, on_column, stage_inputs, window_of

_NUMBER = "$number"


class Way:
    """The way of a stream's rows up to the first operator that keeps rows.

    Attributes:
        scan: where it begins.
        nodes: what is on it, the stream's end first.
        stage: the node it leads to: a window or a join; None if rows go straight to the result.
        port: which input of the stage.
        keyed: whether promises for one key make answers of the stage final.
        base: the node whose rows go to Spark: the stream, or all the way to the stage where that is ours.
    """

    def __init__(
        self, scan: Scan, nodes: tuple[Plan, ...], stage: Stage | None, port: int, *, keyed: bool = True
    ) -> None:
        self.scan = scan
        self.nodes = nodes
        self.stage = stage
        self.port = port
        self.keyed = keyed
        self.base: Plan = nodes[-1] if nodes and looked_up_here(nodes, self.inputs) else scan

    @property
    def inputs(self) -> list[Expr]:
        """What the stage computes of each row."""
        return [] if self.stage is None else stage_inputs(self.stage, self.port)

    @property
    def on(self) -> str | None:
        """The column the stage's window is on, where it isn't the stream's own time."""
        window = window_of(self.stage)
        return None if window is None else window.on

    @property
    def time_column(self) -> str | None:
        """That column among the rows that go to Spark."""
        if self.on is None:
            return None
        return on_column(self.stage) if self.base is self.scan else self.on

    def boundary(self, punctuation: int) -> int:
        """Rows at or after this time miss no answer that is final at the punctuation."""
        if self.stage is None or self.on is not None:
            return MIN_TIME
        window = window_of(self.stage)
        return punctuation if window is None else window.final_from(punctuation)


def paths(plan: Plan) -> list[Way]:
    """One for each place where a stream enters a plan, in the order written."""
    return list(_paths(plan, (), None))


def _paths(
    plan: Plan, above: tuple[Plan, ...], stage: Stage | None, port: int = 0, *, keyed: bool = True
) -> Iterator[Way]:
    match plan:
        case Scan():
            yield Way(plan, above, stage, port, keyed=keyed)
        case Aggregate():
            yield from _paths(plan.input, (), plan, keyed=key_of(plan) is not None)
        case Join():
            for i, (part, key) in enumerate(zip(plan.inputs, keys_of_join(plan), strict=True)):
                yield from _paths(part, (), plan, i, keyed=key is not None)
        case Union(parts=parts):
            for part in parts:
                renamed = Project(
                    part,
                    tuple(
                        (name, _column(part, own))
                        for own, name in zip(part.schema.names, plan.schema.names, strict=True)
                    ),
                    plan.schema,
                )
                yield from _paths(part, (renamed, *above), stage, port, keyed=keyed)
        case _:
            for child in plan.inputs:
                yield from _paths(child, (plan, *above), stage, port, keyed=keyed)


def _column(plan: Plan, name: str) -> Column:
    field = plan.schema.find(name)
    assert field is not None
    return Column(name, field.dtype)


class Judge:
    """Judges the rows of one path."""

    def __init__(self, way: Way) -> None:
        self._way = way
        key = None if way.keyed else promised(way.scan)
        self._for_all = None if key is None else ForAll(key)
        self._operators: list[Operator] = []
        for node in way.nodes:
            make = SUPPORT[type(node)].operators
            self._operators += [] if make is None else make(node)
        used = [e for node in way.nodes for e in node.expressions]
        self._last: Evaluator | None = None
        if way.stage is not None:
            used += way.inputs
            self._last = Evaluator(way.inputs)
            if way.on is not None:
                self._operators.append(Retime(way.on))
        self._can_fail = way.on is not None or any(can_fail(e) for e in used)
        self._whole = way.base is not way.scan

    @property
    def needed(self) -> bool:
        """Whether there is anything to judge but late rows."""
        return self._can_fail or self._whole

    @property
    def lookups(self) -> list[TableLookup]:
        """Look-ups in tables on the way."""
        return [o for o in self._operators if isinstance(o, TableLookup)]

    def heard(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows that came, without the marks of those that are late for their key only, where the stage hears nothing of keys."""
        if self._for_all is None or BROKEN not in frame.columns:
            return frame
        (batch,) = self._for_all.on_batch(0, Batch(frame))
        assert isinstance(batch, Batch)
        return batch.frame

    def judge(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Missed | Failed]]:
        """The rows for Spark, and what is to be said of the others.

        Args:
            frame: rows of the stream with `$ts`, and with `$broken` and `$late` where some are late.
        """
        early: list[Missed | Failed] = []
        if self._way.stage is not None:
            frame, early = self._in_reach(frame)
        late = BROKEN in frame.columns and self._way.stage is not None and self._way.on is None
        if not (late or self._can_fail or self._whole):
            return frame, early
        frame = frame.with_columns(pl.int_range(frame.height, dtype=pl.Int64).alias(_NUMBER))
        passing = frame if self._can_fail or self._whole else frame.filter(pl.col(BROKEN).is_not_null())
        said = early
        out: list[pl.Series] = []
        for operator in self._operators:
            onward = None
            for message in operator.on_batch(0, Batch(passing)):
                if isinstance(message, Failed):
                    said.append(message)
                    out.append(message.frame.get_column(_NUMBER))
                elif isinstance(message, Batch):
                    onward = message.frame
            passing = onward if onward is not None else passing.clear()
        if late and passing.height:
            passing, missed, unusable = self._late(passing)
            said += missed
            out.append(unusable)
        if self._last is not None and self._can_fail and passing.height:
            _, _, failed = self._last.evaluate(passing)
            if failed is not None:
                said.append(failed)
                out.append(failed.frame.get_column(_NUMBER))
                passing = (
                    passing.filter(~passing.get_column(_NUMBER).is_in(out[-1].implode())) if self._whole else passing
                )
        if self._whole:
            return passing.drop(_NUMBER), said
        if out:
            gone = np.zeros(frame.height, np.bool_)
            gone[pl.concat(out).to_numpy()] = True
            frame = frame.filter(pl.Series(~gone))
        return frame.drop(_NUMBER), said

    def _in_reach(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Missed | Failed]]:
        """Spark's watermark begins at 1970, so that rows before that are late for it from the start, shifted as they are."""
        time = on_column(self._way.stage) or TS
        early = (frame.get_column(time).cast(pl.Int64) < -SHIFT).fill_null(False)
        if not early.any():
            return frame, []
        bad = frame.filter(early)
        return frame.filter(~early), [Failed.all(bad, "windows on Spark begin 36,533 years before 1970")]

    def named_late(self) -> list[tuple[str, pl.DataFrame]]:
        """Late rows of the batch under way, under the names of the derived streams they went through."""
        return [(o.stream, o.late) for o in self._operators if isinstance(o, Named) and o.late is not None]

    def _late(self, passing: pl.DataFrame) -> tuple[pl.DataFrame, list[Missed], pl.Series]:
        """Rows that are used in some extent, what late ones missed, and the numbers of those that are used in none."""
        window = window_of(self._way.stage)
        is_late = passing.get_column(BROKEN).is_not_null()
        late = passing.filter(is_late)
        ids = ints(late.get_column(LATE_ID))
        ts, broken = ints(late.get_column(TS)), ints(late.get_column(BROKEN))
        missed: Int64s | None
        judged = None if window is None else window.late(ts, broken)
        if judged is None:  # joins use no late row
            missed = None
            usable = np.zeros(ids.size, np.bool_)
            some = np.arange(ids.size)
        else:
            missed, usable = judged.missed, judged.usable
            some = np.flatnonzero(missed)
        unusable = late.get_column(_NUMBER).filter(pl.Series(~usable))
        kept = passing.filter(~passing.get_column(_NUMBER).is_in(unusable.implode()))
        found = Missed(ids[some], None if missed is None else missed[some])
        return kept, [found] if some.size else [], unusable
