#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plan_html.sh STOWAGE MODEL [OPTION]...: the page of a plan, opened in a browser, has its graph, its panel and
# its arena; a model whose names are HTML and JavaScript leaves no mark on it.
set -eu
stowage=$1 model=$2
shift 2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "skipped: no Chromium"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$1" >&2
  exit 1
}

# dom FILE: the page as it is after its script has run.
dom() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --user-data-dir="$work/profile" --allow-file-access-from-files --window-size=1500,1000 --virtual-time-budget=5000 \
    --dump-dom "file://$1" 2>"$work/browser.log" || true
}

"$stowage" plan "$model" "$@" --html "$work/plan.html" >"$work/out"
nodes=$("$stowage" plan "$model" "$@" --json | grep -c '"category"')
! grep -Eiq '(src|href)=|https?://[^w]|@import|url\([^#]' "$work/plan.html" || fail "the page wants the network"
dom "$work/plan.html" >"$work/dom"
if ! grep -q '<html' "$work/dom"; then
  echo "skipped: the browser does not start here"
  exit 0
fi
grep -q 'data-ready=' "$work/dom" || fail "the script of the page did not end"
drawn=$(grep -o 'class="item node' "$work/dom" | wc -l)
[ "$drawn" -eq "$nodes" ] || fail "$drawn operators are drawn, not $nodes"
grep -q 'class="move' "$work/dom" || fail "no conversion is drawn"
grep -q 'Ways to run it' "$work/dom" || fail "the panel is empty"
sed -n '/id="arena"/,/<\/svg>/p' "$work/dom" | grep -q '<rect' || fail "the arena is empty"

# The same page with names by someone who means harm.
python3 - "$work/plan.html" "$work/evil.html" <<'PY'
import json, sys
page = open(sys.argv[1]).read()
start = page.index('id="data">') + len('id="data">')
end = page.index("</script>", start)
data = json.loads(page[start:end])
evil = "</script><img src=x onerror=document.documentElement.dataset.owned=1>"
for node in data["nodes"]:
    node["name"] = node["kernel"] = node["op"] = evil
    node["details"] = {evil: evil, "posts": evil}
    for operand in node["inputs"] + node["outputs"]:
        operand["name"] = operand["type"] = evil
        operand["shape"] = operand["axes"] = [evil]
for move in data["conversions"]:
    move["value"] = move["reason"] = evil
for named in data["layouts"] + data["kernels"]:
    named["meaning"] = evil
data["model"] = evil
text = json.dumps(data).replace("<", "\\u003c")
open(sys.argv[2], "w").write(page[:start] + text + page[end:])
PY
dom "$work/evil.html" >"$work/dom"
grep -q 'data-ready=' "$work/dom" || fail "the script of the page did not survive odd names"
! grep -q 'data-owned=' "$work/dom" || fail "a name became code"
[ "$(grep -o 'class="item node' "$work/dom" | wc -l)" -eq "$nodes" ] || fail "odd names changed the graph"

# On a telephone nothing is wider than the screen, whatever the names. A window this narrow is a frame of another.
for page in plan evil; do
  cat >"$work/narrow.html" <<HTML
<iframe src="$page.html" style="border:0;width:390px;height:800px"
  onload="const page = this.contentDocument.documentElement;
          document.documentElement.dataset.over = page.scrollWidth - page.clientWidth"></iframe>
HTML
  dom "$work/narrow.html" >"$work/dom"
  grep -q 'data-over="0"' "$work/dom" ||
    fail "the page $page does not fit 390 pixels: $(grep -o 'data-over="[^"]*"' "$work/dom")"
done
echo "plan.html: $nodes operators"
