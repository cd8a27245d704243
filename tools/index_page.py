"""The README as the Python package index shows it: without what it cannot follow, links and pictures of the checkout.

    python tools/index_page.py        writes tools/index_page.md, which setup.cfg names as the long description

The index shows absolute links and pictures only, and strips embedded ones. A link into the checkout becomes its text,
the picture is left out.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n.*?\n\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)[^)]*\)")


def index_page(readme: str) -> str:
    """The text for the index.

    >>> index_page("See [the docs](docs/index.md) and [PyPI](https://pypi.org).")
    'See the docs and [PyPI](https://pypi.org).'
    """
    return _LINK.sub(r"\1", _PICTURE.sub("", readme))


if __name__ == "__main__":
    page = index_page((ROOT / "README.md").read_text(encoding="utf-8"))
    (ROOT / "tools" / "index_page.md").write_text(page, encoding="utf-8")
