"""Third-party code: what packages register under our entry-point groups, solvers in single files, and programs.

It is loaded so that one broken package harms no other. A solver in a file, ``mine.py:SOLVER``, is known by its own name
to this process and to those that it starts, which find it in an environment variable: measuring processes too, and the
workers of a cluster where the variable is set for them. So is a program, ``nl:PROGRAM``, which an entry point of the
group :data:`PROGRAMS` runs as a solver.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .errors import InputError
from .wording import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Used = TypeVar("Used")

#: Solvers in files, as ``NAME=/path/to/file.py:ATTRIBUTE`` with commas between them; programs as ``nl:NAME=/path``.
FILES = "PACB_SOLVERS"

#: Entry-point group of those who make a solver of a program: a function of the solver's name and the program's path.
PROGRAMS = "pacb_models.programs"

#: What is meant as a file, ``mine.py`` or ``mine.py:SOLVER``, and not as the name of a solver.
_FILE = re.compile(r"^(.+\.py)(?::(\w+))?$")


class PluginError(InputError):
    """Another package's entry point cannot be used; the message names it and says why."""


def ours(thing: object) -> bool:
    """Return whether an object's class is this package's own, and not one that only names a module of it."""
    kind = type(thing)
    module = kind.__module__
    return module.startswith("pacb_models.") and getattr(sys.modules.get(module), kind.__name__, None) is kind


def registered(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, by name."""
    # Imported here: reading the metadata of all installed packages is only for who asks for it.
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry: entry.name)


@dataclass(frozen=True)
class FileEntry:
    """A solver in a file, or a program, in the form of an entry point; two are the same when the file's content is."""

    name: str
    path: str
    #: Of the object in the file; empty for a program, which an entry point runs.
    attribute: str
    #: Of the file's content.
    digest: str
    group: str = "solver"
    dist: None = None

    @classmethod
    def of(cls, name: str, path: str, attribute: str = "") -> FileEntry:
        content = b""
        # One that cannot be read is found out when it is used, so that it harms no other solver.
        with suppress(OSError):
            content = Path(path).read_bytes()
        return cls(name, os.path.abspath(path), attribute, hashlib.sha256(content).hexdigest())

    def load(self) -> Any:
        """Return the object, as :meth:`importlib.metadata.EntryPoint.load` does it, or the solver that runs the
        program."""
        if not self.attribute:
            scheme = self.name.partition(":")[0]
            runner = next(entry for entry in registered(PROGRAMS) if entry.name == scheme)
            return runner.load()(self.name, self.path)
        name = f"{Path(self.path).stem}_{self.digest[:12]}"
        return getattr(sys.modules.get(name) or _executed(name, self.path), self.attribute)


class _Beside:
    """Finds what a solver's file imports from beside it, last of all: it takes the place of nothing else.

    On ``sys.path`` it would come before packages of editable installations, this one for instance, in every process
    that this one starts.
    """

    folders: ClassVar[list[str]] = []

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, cls.folders) if path is None else None


def _executed(name: str, path: str) -> ModuleType:
    """Return the module in a file, found by its path only, and never from a stale compiled copy."""
    _Beside.folders += {os.path.dirname(path)}.difference(_Beside.folders)
    if _Beside not in sys.meta_path:
        sys.meta_path.append(_Beside)
    module = ModuleType(name)
    module.__file__ = path
    # Its classes look for it there.
    sys.modules[name] = module
    try:
        exec(compile(Path(path).read_bytes(), path, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def in_files() -> tuple[FileEntry, ...]:
    """Return the solvers that the environment variable :data:`FILES` names, as their files are now."""
    variable = os.environ.get(FILES, "")
    found = []
    for word in filter(None, variable.split(",")):
        name, _, reference = word.partition("=")
        parts = (reference,) if ":" in name and reference else _file_and_attribute(reference)
        if not name or not parts:
            raise InputError(FILES, variable, "it must be NAME=FILE.py:ATTRIBUTE, with commas between several")
        found.append(FileEntry.of(name, *parts))
    return tuple(found)


def _file_and_attribute(reference: str) -> tuple[str, ...]:
    """Return the parts of ``FILE.py:ATTRIBUTE``, ``SOLVER`` where none is given; empty when it is something else."""
    found = _FILE.match(reference)
    return (found[1], found[2] or "SOLVER") if found else ()


def made_known(reference: str, taken: Callable[[], list[str]], use: Callable[[Any], Any]) -> str:
    """Return the name of the solver that a user typed: itself, or that of ``FILE.py:SOLVER`` or ``nl:PROGRAM``, known
    from now on.

    ``use`` checks the object in a file; ``taken`` are names that it cannot have. A program is a path, or on ``PATH``,
    or in this environment.
    """
    known = {each.name: each for each in in_files()}
    scheme, colon, program = reference.partition(":")
    if colon and any(entry.name == scheme for entry in registered(PROGRAMS)):
        path = shutil.which(program) or shutil.which(program, path=os.path.join(sys.prefix, "bin"))
        if path is None or "," in path:
            raise InputError(f"{reference} names no program: {program!r} is neither on PATH nor an executable file.")
        entry = FileEntry.of(f"{scheme}:{os.path.basename(program)}", path)
    elif parts := _file_and_attribute(reference):
        entry = FileEntry.of(reference, *parts)
        name = str(load(entry, lambda found: use(found).name))
        if not re.fullmatch(r"[\w.+-]+", name):
            needed = "a solver's name has letters, digits and hyphens only"
            raise InputError(f"{reference} has the name {name!r}; {needed}.")
        if name not in known and name in taken():
            raise InputError(f"{reference} has the name {name!r}, which another solver has; give it a name of its own.")
        entry = replace(entry, name=name)
    else:
        return reference
    other = known.setdefault(entry.name, entry)
    if (other.path, other.attribute) != (entry.path, entry.attribute):
        raise InputError(f"{reference} has the name {entry.name!r}, which {other.path} has; rename one of them.")
    if other is entry:
        where = ":".join(filter(None, (entry.path, entry.attribute)))
        os.environ[FILES] = ",".join(filter(None, (os.environ.get(FILES), f"{entry.name}={where}")))
    return entry.name


@contextmanager
def files_for_now() -> Iterator[None]:
    """Forget the files that were added in this context when it ends."""
    before = os.environ.get(FILES)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(FILES, None)
        else:
            os.environ[FILES] = before


def load(entry: EntryPoint | FileEntry, use: Callable[[Any], Used]) -> Used:
    """``use`` of what the entry point names; whatever goes wrong in the other package's code is a :class:`PluginError`.

    A module may raise anything when it is imported, and even leave (SystemExit); only an interrupt is the user's.
    """
    try:
        return use(entry.load())
    except (Exception, SystemExit) as reason:
        owner = "" if entry.dist is None else f" of the package {entry.dist.name}"
        raise PluginError(f"{entry.group} {entry.name!r}{owner} cannot be used: {exception_text(reason)}.") from None


def load_all(group: str, use: Callable[[Any], Used]) -> dict[str, Used]:
    """Return every entry point of a group, by name; a broken one is named on standard error and left out."""
    found = {}
    for entry in registered(group):
        try:
            found[entry.name] = load(entry, use)
        except PluginError as reason:
            print(f"pacb: left out: {reason}", file=sys.stderr)
    return found


def exception_text(reason: BaseException) -> str:
    """Return an exception in one line, even one that cannot tell what it is about."""
    try:
        text = shown(str(reason))
    except Exception:
        text = ""
    return f"{type(reason).__name__}: {text}".rstrip(": .")
