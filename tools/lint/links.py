# SPDX-License-Identifier: Apache-2.0
"""Links of Markdown pages: where they lead, and which headings a page has."""
import posixpath
import re

_FENCE = re.compile(r"^ *(```+|~~~+)[^\n]*\n.*?^ *\1[^\n]*$", re.S | re.M)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")


def local(link):
    """A link into the repository."""
    return not re.match(r"[a-z][a-z0-9+.-]*:", link)


def resolve(page, link):
    """The path that a link of a page leads to, from the root, and the heading."""
    path, _, anchor = link.partition("#")
    folder = posixpath.dirname(page)
    return (posixpath.normpath(posixpath.join(folder, path)) if path else page), anchor


def slugs(headings):
    """The anchors that GitHub gives to headings, in their order."""
    found = []
    for heading in headings:
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = sum(s == slug or re.fullmatch(re.escape(slug) + r"-\d+", s) is not None for s in found)
        found.append(f"{slug}-{count}" if count else slug)
    return found


def _blank(m):
    return re.sub(r"[^\n]", " ", m[0])


def prose(text):
    """A page without its blocks of code, lines kept."""
    return _FENCE.sub(_blank, text)


def anchors(text):
    headings = re.findall(r"^#{1,6} +(.*?) *#*$", prose(text), re.M)
    # Emphasis and links are no part of an anchor; what stands in code is.
    return slugs(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", h) for h in headings)


def links(text):
    """(line, link) of a page, those in code left out."""
    without = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", _blank, prose(text), flags=re.S)
    # What stands between [ and ] may be code; only the target counts.
    for m in _LINK.finditer(without):
        yield without.count("\n", 0, m.start()) + 1, m[1]
