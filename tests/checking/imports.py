"""What each name of the project is made of, by imports: a graph of names. Not for choosing tests (`reach.py`).

A module that takes one name from another hangs on that name and on all that is used where it is made, within functions too; a
package's `__init__` hands names on. What else the other module holds is run when it is imported, but not used.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.checking.steps import ROOT

TOPS = {
    "jupyter_stream": "jupyter_stream",
    "magics": "jupyter_stream.magics",
    "tests": "tests",
    "tutorials": "tutorials",
}
"""Folders of modules, and by which name they are imported."""


class Name(NamedTuple):
    """A name that a module binds at its top.

    Attributes:
        module: the module's name.
        name: the name; `WHOLE` for all of the module, `RUN` for what it does by itself when it is imported.
    """

    module: str
    name: str


WHOLE, RUN = "*", ""
ROOTS = "tests.conftest"
"""It is there for all tests. In the package it only watches, which matters to those who use that themselves."""

Chain = tuple[str, ...]
"""`a.b.c` as it stands in a text."""


class Uses(NamedTuple):
    """What a piece of a text uses.

    Attributes:
        chains: names as they stand there, with the attributes behind them.
        imports: modules by absolute name, each with the name that is taken from it or `WHOLE`.
        fixtures: what tests and fixtures ask for by names of arguments, or in words.
    """

    chains: set[Chain]
    imports: set[tuple[str, str]]
    fixtures: set[str]

    @classmethod
    def nothing(cls) -> Uses:
        """Of an empty text."""
        return cls(set(), set(), set())


class Module:
    """A module's text, taken apart."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.text = path.read_text()
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.bound: defaultdict[str, Uses] = defaultdict(Uses.nothing)
        self.aliases: dict[str, tuple[str, str]] = {}
        self.run = Uses.nothing()
        self.fixtures: set[str] = set()
        self.by_itself: set[str] = set()
        self._statements(ast.parse(self.text).body)

    def binds(self, name: str) -> bool:
        """Whether it has this name."""
        return name in self.bound or name in self.aliases

    def _statements(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    self._uses(node, self.bound[name])
                    self._note(node)
                case ast.Import() | ast.ImportFrom():
                    self.aliases |= dict(self.imported(node))
                case ast.Assign(targets=[*targets]) if all(isinstance(t, ast.Name) for t in targets):
                    for target in targets:
                        self._uses(node, self.bound[target.id])  # type: ignore[attr-defined]  # the line above
                case ast.AnnAssign(target=ast.Name(id=name)):
                    self._uses(node, self.bound[name])
                case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=only_types, orelse=other):
                    # for annotations alone, unless `__getattr__` gives these names to whoever asks
                    self._statements([*(only_types if "def __getattr__" in self.text else ()), *other])
                case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                    self._run(node)
                case _:
                    self._uses(node, self.run)

    def _run(self, node: ast.stmt) -> None:
        """A statement with others in it: what it asks runs; what they bind is bound."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self._statements([child])
            elif isinstance(child, ast.ExceptHandler):
                self._statements(child.body)
            else:
                self._uses(child, self.run)
        for name in (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)):
            self._uses(node, self.bound[name])

    def _note(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        made = _fixture(node)
        if made:
            renamed = re.search(r"name='(\w+)'", made)
            name = renamed[1] if renamed else node.name
            self.fixtures.add(name)
            if renamed:
                self.bound[name].chains.add((node.name,))
        if node.name.startswith("pytest_") or "autouse=True" in made:
            self.by_itself.add(node.name)

    def imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, tuple[str, str]]]:
        """The names that an import binds, each with the module and the name in it."""
        if isinstance(node, ast.Import):
            for a in node.names:
                yield a.asname or a.name.split(".")[0], (a.name if a.asname else a.name.split(".")[0], WHOLE)
        else:
            up = self.package.split(".")[: len(self.package.split(".")) - node.level + 1] if node.level else []
            home = ".".join([*up, *filter(None, [node.module])])
            yield from ((a.asname or a.name, (home, a.name)) for a in node.names)

    def _uses(self, node: ast.AST, found: Uses) -> None:
        """Add what a piece of the text uses."""
        match node:
            case ast.Expr(value=ast.Constant()):
                return  # a docstring
            case ast.Name(id=name):
                found.chains.add((name,))
                return
            case ast.Attribute() if chain := _chain(node):
                found.chains.add(chain)
                return
            case ast.Import():
                found.imports.update((a.name, WHOLE) for a in node.names)
            case ast.ImportFrom():
                found.imports.update(what for _, what in self.imported(node))
            case ast.Constant(value=str(text)):
                found.imports.update(self._told(text))
            case ast.Call(args=[ast.Constant("load_ext"), ast.Constant(str(text))]):
                found.imports.add((text, WHOLE))
            case ast.Call(func=ast.Attribute(attr="usefixtures" | "getfixturevalue"), args=args):
                found.fixtures.update(a.value for a in args if isinstance(a, ast.Constant))
            case ast.FunctionDef(name=name) if name.startswith("test_") or _fixture(node):
                found.fixtures.update(a.arg for a in (*node.args.args, *node.args.kwonlyargs))
        for child in ast.iter_child_nodes(node):
            self._uses(child, found)

    def _told(self, text: str) -> Iterator[tuple[str, str]]:
        """Modules that a string names: other programs are started with them, or they are looked up.

        Any mention in a test counts, and so do notebooks and pages, whose cells load the package. In the package itself the word
        alone is a name of other things, such as loggers and files.
        """
        if self.name.startswith("jupyter_stream"):
            if "." in text and text in files():
                yield text, WHOLE
        else:
            for told in _TOLD.findall(text):
                yield told if told[0] in "jt" else "jupyter_stream", WHOLE


_TOLD = re.compile(r"\bjupyter_stream(?:\.\w+)*|\btests(?:\.\w+)+|\.ipynb|\.md\b")


def _fixture(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """The decorator that makes it a fixture, as written; empty for other functions."""
    return next((text for d in node.decorator_list if "fixture" in (text := ast.unparse(d))), "")


def _chain(node: ast.AST) -> Chain | None:
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=value, attr=attr):
            return (*below, attr) if (below := _chain(value)) else None
    return None


@cache
def files() -> Mapping[str, Path]:
    """All modules of the project by name, with their files."""
    found = {}
    for top, name in TOPS.items():
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT / top).with_suffix("").parts
            found[".".join((name, *(p for p in parts if p != "__init__")))] = path
    return found


@cache
def modules() -> Mapping[str, Module]:
    """The same, read."""
    return {name: Module(name, path) for name, path in files().items()}


def conftests(module: str) -> Iterator[str]:
    """The `conftest.py` of a test's folder and of those above, the nearest first."""
    parts = module.split(".")
    for n in range(len(parts) - 1, 0, -1):
        above = ".".join((*parts[:n], "conftest"))
        if above in files() and above != module:
            yield above


@cache
def fixtures(module: str) -> set[str]:
    """Fixtures that can be asked for by name where a module's names are known: its own, and those that it imports."""
    aliases = modules()[module].aliases.items()
    return modules()[module].fixtures | {
        a for a, (home, name) in aliases if home in files() and name in modules()[home].fixtures
    }


def by_itself(conftest: str) -> Iterator[Name]:
    """What a `conftest.py` does for every test below it, asked or not."""
    module = modules()[conftest]
    yield Name(conftest, RUN)
    for name in module.by_itself:
        yield Name(conftest, name)
    for alias, (home, name) in module.aliases.items():
        if home in files() and name in modules()[home].by_itself:
            yield Name(conftest, alias)


@cache
def graph() -> Mapping[Name, set[Name]]:
    """For each name those that it is made of."""
    made_of: defaultdict[Name, set[Name]] = defaultdict(set)
    for module in modules().values():
        run = Name(module.name, RUN)
        made_of[run].update(_resolved(module, module.run))
        if module.name.rpartition(".")[2].startswith("test_"):
            made_of[run].update(name for above in conftests(module.name) if above != ROOTS for name in by_itself(above))
        if module.package != module.name and module.package in modules():
            made_of[run].add(Name(module.package, RUN))
        for name, uses in module.bound.items():
            made_of[Name(module.name, name)].update((*_resolved(module, uses), run))
        for alias, (home, name) in module.aliases.items():
            whole = _is_module(module, home, name)  # then it is its attributes that are used
            at = _followed(module, (home, name), ()).module if whole else ""
            made_of[Name(module.name, alias)].update((run, *([Name(at, RUN)] if whole else _taken(module, home, name))))
        whole = {Name(module.name, name) for name in (*module.bound, *module.aliases)}
        made_of[Name(module.name, WHOLE)].update(whole, {run})
    return made_of


def _resolved(module: Module, uses: Uses) -> Iterator[Name]:
    """The names that are meant by what a piece of a module's text uses."""
    for chain in uses.chains:
        if alias := module.aliases.get(chain[0]):
            yield _followed(module, alias, chain[1:]) if _is_module(module, *alias) else Name(module.name, chain[0])
        elif chain[0] in module.bound:
            yield Name(module.name, chain[0])
    for home, name in uses.imports:
        yield from _taken(module, home, name)
    if module.name.startswith("tests."):
        for fixture in uses.fixtures:
            for place in (module.name, *conftests(module.name)):
                if fixture in fixtures(place):
                    yield Name(place, fixture)
                    break


def _absolute(module: Module, home: str) -> str:
    """A module's full name: tests put their own folder, or that of the tutorials, on the path."""
    if home.split(".")[0] in ("jupyter_stream", "tests", "tutorials"):
        return home
    places = (f"{module.package}.{home}", f"tutorials.{home}")
    return next((place for place in places if place in files()), home)


def _is_module(module: Module, home: str, name: str) -> bool:
    home = _absolute(module, home)
    return (home in files() and name == WHOLE) or _below(home, name)


def _below(home: str, name: str) -> bool:
    """Whether a name of a package means a module in it, and nothing else that its `__init__` calls so."""
    return f"{home}.{name}" in files() and not (home in files() and modules()[home].binds(name))


def _followed(module: Module, alias: tuple[str, str], attributes: Chain) -> Name:
    """What is meant by attributes of a module, some of which may be modules too."""
    home, name = alias
    at = _absolute(module, home) if name == WHOLE else f"{_absolute(module, home)}.{name}"
    for attribute in attributes:
        if not _below(at, attribute):
            return _name(at, attribute)
        at = f"{at}.{attribute}"
    return Name(at, WHOLE)


def _taken(module: Module, home: str, name: str) -> Iterator[Name]:
    """What is meant by a name that is taken from a module, or by a dotted name of which the first parts are one."""
    home = _absolute(module, home)
    if _below(home, name):
        yield Name(f"{home}.{name}", WHOLE)
    elif home in files():
        yield _name(home, name)
        if name == WHOLE and f"{home}.__main__" in files():
            yield Name(f"{home}.__main__", WHOLE)
    elif name == WHOLE and home.rpartition(".")[0]:
        yield from _taken(module, *home.rpartition(".")[::2])


def _name(module: str, name: str) -> Name:
    """A name of a module; all of it where the module makes the name in ways of its own."""
    of = modules()[module]
    if name in of.aliases and _is_module(of, *of.aliases[name]):
        return _followed(of, of.aliases[name], ())
    return Name(module, name if name == WHOLE or of.binds(name) else WHOLE)
