"""A third party's package in a folder on the path, as pip would put it there."""

from pathlib import Path


def install(folder: Path, entry_points: str, name: str = "theirs", **modules: str) -> Path:
    """The package with these entry points and modules; the folder."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    return folder
