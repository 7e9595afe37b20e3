"""How a query is to run on Spark, as the user says it: master, settings of Spark's, checkpoint, pace of micro-batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from jupyter_stream.core.time import parse_duration
from jupyter_stream.errors import QueryError, UnsupportedError

CLUSTER = "Rows go to Spark through a folder of this machine: use the master local[*]."
"""Why no other master will do."""


AT_ONCE: Final = "jupyter_stream.maxFilesPerTrigger"
"""The setting of ours among Spark's: how many files a micro-batch takes at most."""
STALLED: Final = "jupyter_stream.stalled"
"""The setting of ours among Spark's: after how long without a task ending a query goes on from its checkpoint."""

_ANSWER: Final = 0.2
"""The part of the time a query may get nowhere that Spark's state server has for an answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for.

    Attributes:
        master: where a Spark of ours is to run; None for all cores of this machine.
        conf: settings of Spark's.
        checkpoint: the folder a query goes on from when it is started again; None for none.
        trigger: microseconds between micro-batches; None for as soon as there are rows.
        stalled: seconds without any progress, of a micro-batch under way, after which Spark is taken to wait for ever: far
            beyond what the first task of a busy machine takes to start.
        at_once: how many files a micro-batch takes at most of each stream; None for all there are.
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    checkpoint: Path | None = None
    trigger: int | None = None
    stalled: float = 300
    at_once: int | None = None

    @property
    def patience(self) -> float:
        """Seconds that Spark's state server has for an answer, which takes it milliseconds."""
        return self.stalled * _ANSWER


def settings(
    master: str | None, conf: Mapping[str, str] | Sequence[str], checkpoint: str | Path | None, trigger: str | None
) -> Settings:
    """The settings of these words.

    Args:
        master: such as `local[2]`.
        conf: `key=value` words, or a mapping.
        checkpoint: a folder; made if there is none.
        trigger: a time such as `5 seconds`.

    Raises:
        QueryError: a word that can't be one.
        UnsupportedError: a master elsewhere, and no folder that it can read.
    """
    if master is not None:
        check_shared(master, checkpoint)
    pairs = conf if isinstance(conf, Mapping) else dict(_pair(word) for word in conf)
    micros = None if trigger is None else parse_duration(trigger)
    if trigger is not None and (micros is None or micros <= 0):
        raise QueryError(
            f"{trigger!r} is not a length of time between micro-batches",
            hint="Write for instance --trigger '5 seconds'.",
        )
    folder = None if checkpoint is None else _folder(checkpoint)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise QueryError(f"the checkpoint {folder} is a file", hint="Name a folder; it is made if there is none.")
    words = {str(k): str(v) for k, v in pairs.items()}
    patience = words.pop(STALLED, None)
    wait = None if patience is None else parse_duration(patience)
    if patience is not None and (wait is None or wait <= 0):
        raise QueryError(
            f"{patience!r} is not a length of time", hint=f"Write for instance --conf {STALLED}='2 minutes'."
        )
    own = {} if wait is None else {"stalled": wait / 1e6}
    at_once = files_at_once(words.pop(AT_ONCE, None))
    return Settings(master, words, folder, micros, **own, at_once=at_once)


def here(master: str) -> bool:
    """Whether all of Spark runs on this machine, and can read its temporary files."""
    return master.startswith("local")


def check_shared(master: str, checkpoint: str | Path | None) -> None:
    """Raise `UnsupportedError` where Spark runs elsewhere, and there is no folder in which it could find rows."""
    if not here(master) and checkpoint is None:
        raise UnsupportedError(
            f"Spark runs on {master}, which can't read the temporary files of this machine",
            hint="Name a folder that all its machines find at the same path: --checkpoint DIR.",
        )


def files_at_once(text: object) -> int | None:
    """How many files a micro-batch is to take; None for all there are.

    Raises:
        QueryError: that is not a number of files.
    """
    if text is None:
        return None
    if not str(text).isdecimal() or int(str(text)) < 1:
        raise QueryError(f"{text!r} is not a number of files", hint=f"Write for instance --conf {AT_ONCE}=10.")
    return int(str(text))


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key.strip():
        raise QueryError(
            f"{word!r} is not a setting of Spark", hint="Write for instance --conf spark.sql.shuffle.partitions=4."
        )
    return key.strip(), value.strip()


def _folder(path: str | Path) -> Path:
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:
        raise QueryError(f"there is no folder {path}: its user isn't known here") from None
