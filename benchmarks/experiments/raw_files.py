"""Raw data files: found in a directory or downloaded once, and checked before anything is learnt from them."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from pacb_models.errors import InputError
from pacb_models.files import write_atomically

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

Lines = list[list[str]]


@dataclass(frozen=True)
class RawFile:
    """The size and the digest of a raw file, and where the UCI repository keeps it (None: not as a plain text)."""

    name: str
    rows: int
    columns: int
    sha256: str
    uci: str | None = None

    def parse(self, text: str, source: str) -> Lines:
        """The cells of the published text, whatever its line ends; InputError says what is different in another one."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
        rows = [line.split(",") for line in lines]
        if digest == self.sha256:
            return rows
        found = f"its SHA-256 is {digest}, expected {self.sha256}"
        if len(rows) != self.rows:
            found = f"it has {len(rows)} rows, expected {self.rows}"
        elif wrong := [number for number, row in enumerate(rows, 1) if len(row) != self.columns]:
            found = f"row {wrong[0]} has {len(rows[wrong[0] - 1])} columns, expected {self.columns}"
        raise InputError(f"{source} is not the {self.name} of the UCI repository: {found}.")


def find_file(file: RawFile, directory: str | os.PathLike[str] | None, base_url: str = UCI) -> Path:
    """The raw file in ``directory``; without one, in the cache, which is filled from ``base_url``."""
    path = Path(directory or cache_directory()) / file.name
    if not path.is_file():
        if directory is not None:
            raise InputError(f"there is no {file.name} in the data directory {str(directory)!r}.")
        _download(file, path, base_url)
    return path


def cache_directory() -> Path:
    """Where downloaded files are kept: ``$XDG_CACHE_HOME/pacb-models``, by default under ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pacb-models"


def _download(file: RawFile, path: Path, base_url: str) -> None:
    """Fetch a file into the cache; one that is not the published text is not kept."""
    advice = f"put {file.name} into a directory and name that, also as PACB_DATA"
    if file.uci is None:
        raise InputError(f"{file.name} cannot be downloaded as text; {advice}.")
    url = f"{base_url}/{file.uci}"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
        text = content.decode()
    except (urllib.error.URLError, OSError, UnicodeDecodeError) as reason:
        raise InputError(f"cannot download {url} ({getattr(reason, 'reason', reason)}); {advice}.") from None
    file.parse(text, url)
    write_atomically(path, content)
