"""The metadata of a package with entry points, as pip would write it."""

from pathlib import Path


def install(folder: Path, group: str, *entries: str) -> None:
    """The package ``theirs`` in a folder on the path, with entry points of ours."""
    metadata = folder / "theirs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[pacb_models.{group}]\n" + "\n".join(entries) + "\n")
