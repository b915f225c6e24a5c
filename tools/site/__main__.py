# SPDX-License-Identifier: Apache-2.0
"""python3 tools/site OUT: writes the pages of the repository below OUT, as HTML.

docs/README.md is the first page and the table of contents beside every other. Markdown becomes HTML by cmark-gfm, which
is GitHub's; this adds anchors, links, a style sheet, and a page for each source file that a page links to. A link that
leads nowhere is an error."""
import html
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "lint"))

from links import local, resolve, slugs

PICTURES = {".svg", ".png"}
FIRST = "docs/README.md"


def pages():
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True,
                          check=True)
    return sorted(p for p in done.stdout.split() if (ROOT / p).is_file())


def place(path):
    """Where a file of the repository goes."""
    inside = path.removeprefix("docs/") if path.startswith("docs/") else "repository/" + path
    suffix = pathlib.PurePosixPath(path).suffix
    if inside.endswith("README.md"):
        return inside.removesuffix("README.md") + "index.html"
    if suffix == ".md":
        return inside.removesuffix(".md") + ".html"
    return inside if suffix in PICTURES else inside + ".html"


def relative(there, here):
    up = "../" * here.count("/")
    return up + there


def markdown(text):
    command = ["cmark-gfm", "-e", "table", "-e", "strikethrough", "-e", "autolink"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def plain(fragment):
    return html.unescape(re.sub(r"<[^>]+>", "", fragment))


class Site:
    def __init__(self, out):
        self.out = out
        self.texts = {p: (ROOT / p).read_text() for p in pages()}
        self.bodies = {p: markdown(text) for p, text in self.texts.items()}
        self.anchors = {p: slugs(plain(h) for h in re.findall(r"<h[1-6]>(.*?)</h[1-6]>", body, re.S))
                        for p, body in self.bodies.items()}
        self.linked = set()
        self.broken = []

    def title(self, page):
        m = re.search(r"<h1>(.*?)</h1>", self.bodies[page], re.S)
        return plain(m[1]) if m else page

    def target(self, page, link):
        """What stands in HTML for a link of a page."""
        if not local(link):
            return link
        path, anchor = resolve(page, html.unescape(link))
        if (ROOT / path).is_dir():
            path = f"{path}/README.md"
        if not (ROOT / path).is_file():
            self.broken.append(f"{page}: {link} is no file")
            return link
        if path in self.anchors and anchor and anchor not in self.anchors[path]:
            self.broken.append(f"{page}: {link}: {path} has no such heading")
        if path not in self.texts:
            self.linked.add(path)
        return relative(place(path), place(page)) + (f"#{anchor}" if anchor else "")

    def body(self, page):
        anchors = iter(self.anchors[page])
        def heading(m):
            anchor = next(anchors)
            return f'<h{m[1]} id="{anchor}">{m[2]}<a class="here" href="#{anchor}" aria-label="link to this">#</a></h{m[1]}>'
        body = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, self.bodies[page], flags=re.S)
        body = re.sub(r'(href|src)="([^"]*)"',
                      lambda m: m[0] if m[2].startswith("#") and m[2][1:] in self.anchors[page]
                      else f'{m[1]}="{html.escape(self.target(page, m[2]))}"', body)
        body = body.replace('<pre><code class="language-text">', '<pre class="printed" tabindex="0"><code>')
        body = re.sub(r"<pre>", '<pre tabindex="0">', body)
        return body.replace("<table>", '<div class="table" tabindex="0"><table>').replace("</table>", "</table></div>")

    def contents(self, page):
        """The headings and links of the first page, and below the link to this one its headings."""
        out, headings = [], []
        for level, heading, link, words in re.findall(r'<h(2)>(.*?)</h2>|<li>\s*(?:<p>)?<a href="([^"]*)">(.*?)</a>',
                                                      self.bodies[FIRST], re.S):
            if level:
                headings = [f"<h2>{heading}</h2>"]  # stands above a link or not at all
                continue
            out, headings = out + headings, []
            path, _ = resolve(FIRST, link)
            here = path == page
            out.append(f'<a href="{html.escape(self.target_of_contents(page, path))}"'
                       f'{" aria-current=page" if here else ""}>{words}</a>')
            if here:
                found = re.findall(r"<h([1-6])>(.*?)</h\1>", self.bodies[page], re.S)
                out += [f'<a class="part" href="#{anchor}">{re.sub("</?a[^>]*>", "", text)}</a>'
                        for (n, text), anchor in zip(found, self.anchors[page]) if n == "2"]
        return "\n".join(out)

    def target_of_contents(self, page, path):
        if (ROOT / path).is_dir():
            path = f"{path}/README.md"
        return relative(place(path), place(page))

    def write(self, place_, title, body, contents):
        template = (HERE / "page.html").read_text()
        for key, value in (("title", html.escape(title)), ("style", (HERE / "style.css").read_text()),
                           ("first", relative(place(FIRST), place_)), ("contents", contents), ("body", body)):
            template = template.replace(f"{{{{{key}}}}}", value)
        file = self.out / place_
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(template)

    def make(self):
        for page in self.texts:
            self.write(place(page), self.title(page), self.body(page), self.contents(page))
        for path in sorted(self.linked):
            where = place(path)
            if pathlib.PurePosixPath(path).suffix in PICTURES:
                (self.out / where).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, self.out / where)
                continue
            try:
                source = html.escape((ROOT / path).read_text())
            except UnicodeDecodeError:
                source = "(binary)"
            self.write(where, path, f'<h1>{html.escape(path)}</h1>\n<pre tabindex="0"><code>{source}</code></pre>', "")
        return self.broken


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.split("\n", maxsplit=1)[0], file=sys.stderr)
        return 2
    out = pathlib.Path(arguments[0])
    shutil.rmtree(out, ignore_errors=True)
    site = Site(out)
    broken = site.make()
    for line in broken:
        print(line, file=sys.stderr)
    if not broken:
        print(f"{len(site.texts)} pages and {len(site.linked)} files that they link to: {out / place(FIRST)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
