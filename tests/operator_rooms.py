"""All modules in which operators stand, found in the rooms that have any."""

import importlib
import pkgutil
from types import ModuleType

ROOMS = ("flow", "windowed", "relations", "joins", "matches", "budget", "approximation")


def operator_modules() -> list[ModuleType]:
    """The modules of these rooms, imported."""
    rooms = [importlib.import_module(f"jupyter_stream.{room}") for room in ROOMS]
    return [importlib.import_module(f"{r.__name__}.{m.name}") for r in rooms for m in pkgutil.iter_modules(r.__path__)]
