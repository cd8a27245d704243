"""Raw data files: found in a directory or downloaded once, and checked before anything is learnt from them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pacb_models.errors import InputError
from pacb_models.files import write_atomically

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

Lines = list[list[str]]


@dataclass(frozen=True)
class RawFile:
    """What a raw file must look like, and where the UCI repository keeps it (None: not as a plain text)."""

    name: str
    rows: int
    columns: int
    sha256: str
    uci: str | None = None

    def parse(self, text: str, source: str) -> Lines:
        """The cells of the file, after the checks."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if len(lines) != self.rows:
            raise InputError(f"{source} has {len(lines)} rows; {self.name} has {self.rows}.")
        rows = [line.split(",") for line in lines]
        for number, row in enumerate(rows, 1):
            if len(row) != self.columns:
                raise InputError(f"{source}, row {number}: {len(row)} columns; {self.name} has {self.columns}.")
        return rows

    def check_text(self, text: str, source: str) -> None:
        """Compare the text with the published one, whatever its line ends."""
        lines = (line.strip() for line in text.splitlines())
        digest = hashlib.sha256("".join(f"{line}\n" for line in lines if line).encode()).hexdigest()
        if digest != self.sha256:
            raise InputError(
                f"{source} has the rows and columns of {self.name} but other values: "
                f"its SHA-256 is {digest}, expected {self.sha256}."
            )


def find_file(file: RawFile, directory: str | os.PathLike[str] | None, base_url: str = UCI) -> Path:
    """The raw file in ``directory``; without one, in the cache, which is filled from ``base_url``."""
    if directory is not None:
        path = Path(directory) / file.name
        if not path.is_file():
            raise InputError(f"there is no {file.name} in the data directory {str(directory)!r}.")
        return path
    path = cache_directory() / file.name
    if not path.is_file():
        _download(file, path, base_url)
    return path


def cache_directory() -> Path:
    """Where downloaded files are kept: ``$XDG_CACHE_HOME/pacb-models``, by default under ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pacb-models"


def _download(file: RawFile, path: Path, base_url: str) -> None:
    """Fetch a file into the cache; one that is not the published text is not kept."""
    import urllib.error
    import urllib.request

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
    file.check_text(text, url)
    write_atomically(path, content)


def read_text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as reason:
        raise InputError(f"cannot read {str(path)!r}: {reason}.") from None
