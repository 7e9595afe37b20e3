"""What is unpickled from a checkpoint: only what this user has written."""

from __future__ import annotations

import pickle
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_stream.checkpoints import signing
from jupyter_stream.checkpoints.folders import kept
from jupyter_stream.spark.processor import Operators


class State:
    """Spark's value state, of which the processor needs these."""

    def __init__(self, held: bytes):
        self.held = held

    def get(self) -> tuple[bytes]:
        return (self.held,)


@pytest.fixture
def own_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.delenv(signing.VARIABLE, raising=False)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    signing._kept.cache_clear()
    yield tmp_path / "data" / "jupyter_stream_key"
    signing._kept.cache_clear()  # what is written from here on is read by processes that have the user's key


def test_the_key_is_made_once_and_for_its_owner_alone(own_key: Path):
    key = signing.key()
    assert stat.S_IMODE(own_key.stat().st_mode) == 0o600 and own_key.read_bytes() == key
    signing._kept.cache_clear()
    assert signing.key() == key
    assert [p.name for p in own_key.parent.iterdir()] == [own_key.name]


def test_a_key_of_the_environment_takes_its_place(own_key: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(signing.VARIABLE, "a sentence of mine")
    assert len(signing.key()) == 32 and not own_key.exists()


def test_only_signed_states_are_read_back():
    key = b"k" * 32
    assert signing.checked(key, signing.signed(key, b"state")) == b"state"
    for wrong in (b"state", b"", signing.signed(b"o" * 32, b"state"), signing.signed(key, b"state") + b"!"):
        with pytest.raises(signing.ForeignState, match="not written with this user's key"):
            signing.checked(key, wrong)


def test_a_state_that_somebody_else_wrote_is_not_unpickled(tmp_path: Path):
    mark = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (mark,)

    processor = Operators(pickle.dumps(None), 1.0, b"k" * 32)
    processor._state = State(pickle.dumps(Trap()))
    with pytest.raises(signing.ForeignState):
        processor._kept()
    assert not mark.exists()


def test_a_checkpoint_is_for_its_owner_alone(tmp_path: Path):
    open_to_all = tmp_path / "checkpoint"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    folder = kept(open_to_all)
    assert folder is not None
    folder.release()
    assert stat.S_IMODE(open_to_all.stat().st_mode) == 0o700
