"""What the content security policy of a page lets happen."""

import base64
import hashlib
import html
import re


def allows_what_it_has_and_no_more(page: str) -> bool:
    """Whether every style and script of a page is named by its digest in the policy, and nothing else may run."""
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])
    parts = [text for _, text in re.findall(r"<(style|script)[^>]*>(.*?)</", page, re.DOTALL)]
    digests = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in parts}
    attributes = re.search(r"<[^>]* (style|on\w+)=", page)
    return set(re.findall(r"'sha256-[^']*'", policy)) == digests and "unsafe" not in policy and not attributes
