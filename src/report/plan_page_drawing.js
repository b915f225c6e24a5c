// SPDX-License-Identifier: Apache-2.0
// The picture of the graph, and how one moves in it.
const svg = by("graph"), world = make("g"), edgeLayer = make("g"), moveLayer = make("g"), itemLayer = make("g");
world.append(edgeLayer, moveLayer, itemLayer);
svg.append(patterns(), world);

function pathOf(edge) {
  const stops = [{x: edge.from.x, y: yOf(edge.from) + kHigh / 2},
                 ...edge.bends.map(b => ({x: b.x, y: yOf(b)})), {x: edge.to.x, y: yOf(edge.to) - kHigh / 2}];
  let d = `M${stops[0].x} ${stops[0].y}`;
  for (let i = 1; i < stops.length; ++i) {
    const a = stops[i - 1], b = stops[i], m = (a.y + b.y) / 2;
    d += `C${a.x} ${m} ${b.x} ${m} ${b.x} ${b.y}`;
  }
  const last = stops[stops.length - 1], before = stops[stops.length - 2];
  return {d, middle: {x: (last.x + before.x) / 2, y: (last.y + before.y) / 2}};
}
for (const edge of edges) {
  const {d, middle} = pathOf(edge);
  if (!edge.move) {
    edge.element = make("path", {class: "edge", d});
    edgeLayer.append(edge.element);
    continue;
  }
  const words = size(edge.move.bytes), width = words.length * 6.2 + 10;
  edge.element = make("g", {class: "move"},
    make("title", {}, `conversion of ${edge.move.value}: ${edge.move.from} \u2192 ${edge.move.to}, ${words}`),
    make("path", {d}), make("path", {d, class: "hit"}),
    make("rect", {x: middle.x - width / 2, y: middle.y - 8, width, height: 16, rx: 4}),
    make("text", {x: middle.x, y: middle.y + 4, "text-anchor": "middle"}, words));
  edge.element.addEventListener("click", () => pick(edge));
  moveLayer.append(edge.element);
}

// A card: what it is and its time, how, and a band with layout and shape in the layout's colour.
function card(item) {
  const top = kHigh - kBand, shape = extents(item.shape || []);
  item.band = make("rect", {x: 1, y: top, width: kWide - 2, height: kBand - 1});
  item.marks = make("rect", {x: 1, y: top, width: kWide - 2, height: kBand - 1});
  item.words = make("text", {class: "band-text", x: 9, y: kHigh - 6.5},
                    `${cut(item.layout, Math.max(8, 29 - shape.length))}  ${cut(shape, 20)}`);
  item.clock = make("text", {class: "time", x: kWide - 9, y: 18, "text-anchor": "end"});
  const group = make("g", {class: "item " + (item.kind === "node" ? "node" : "port " + item.kind), tabindex: -1,
      role: "button",
      transform: `translate(${item.x - kWide / 2} ${yOf(item) - kHigh / 2})`,
      "aria-label": `${item.what}, ${item.how}, ${item.layout}, ${shape}`},
    make("title", {}, `${item.name}\n${item.what}: ${item.how}\n${item.layout}  ${shape}`),
    make("rect", {class: "card", width: kWide, height: kHigh, rx: 5}), item.band, item.marks,
    make("text", {class: "what", x: 9, y: 18}, cut(item.what, item.kind === "node" ? 16 : 25)), item.clock,
    make("text", {class: "how", x: 9, y: 35}, cut(item.how, 30)), item.words);
  if (item.kind === "node") {
    item.bar = make("rect", {class: "share", x: 1, y: top - 4, height: 4});
    group.append(item.bar);
  }
  group.addEventListener("click", () => pick(item));
  group.addEventListener("keydown", e => walk(e, item));
  return group;
}
// A group for each layer: those out of sight are not laid out, which keeps large graphs quick.
for (const layer of layers) {
  layer.group = make("g", {display: "none"});
  layer.shown = false;
  itemLayer.append(layer.group);
}
for (const item of items) {
  item.element = card(item);
  layers[item.layer].group.append(item.element);
}
// Bands by layout or by time; clocks and bars are measured where there is a choice.
function paint(mode) {
  for (const item of items) {
    const us = item.kind !== "node" ? 0 : mode === "predicted" ? item.node.cost_us : item.us;
    const share = us / (mode === "predicted" ? mostPredicted : most);
    const look = mode === "layout" ? layoutLook(item.layout) : item.kind === "node" ? heatLook(share) : plain;
    item.clock.textContent = us > 0 ? time(us) : "";
    if (item.bar) item.bar.setAttribute("width", Math.max(0, (kWide - 2) * share));
    item.band.setAttribute("fill", look.colour);
    item.marks.setAttribute("fill", patternFill(look));
    item.words.setAttribute("style", `fill:${look.ink};stroke:${look.colour}`);
  }
}

function walk(event, item) {
  const row = layers[item.layer].filter(t => t.element), at = row.indexOf(item);
  const next = {ArrowDown: item.out[0] && item.out[0].to, ArrowUp: item.in[0] && item.in[0].from,
                ArrowLeft: row[at - 1], ArrowRight: row[at + 1]}[event.key];
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(item); }
  else if (event.key.startsWith("Arrow")) {
    event.preventDefault();
    if (next) { pick(next); show(next); next.element.focus({preventScroll: true}); }
  }
}

// Pan and zoom.
let view = {x: 0, y: 0, k: 1};
function draw() {
  world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
  svg.classList.toggle("far", view.k < 0.3);
  layers.forEach((layer, l) => {
    const y = l * kDown * view.k + view.y, shown = y > -kHigh && y < height + kHigh;
    if (shown === layer.shown) return;
    layer.shown = shown;
    if (shown) layer.group.removeAttribute("display");
    else layer.group.setAttribute("display", "none");
  });
}
let height = svg.getBoundingClientRect().height;
window.addEventListener("resize", () => { height = svg.getBoundingClientRect().height; draw(); });
const extent = {left: Infinity, right: -Infinity, top: -kHigh, bottom: (layers.length - 1) * kDown + kHigh};
for (const layer of layers) for (const t of layer) {
  extent.left = Math.min(extent.left, t.x - t.width / 2);
  extent.right = Math.max(extent.right, t.x + t.width / 2);
}
function zoom(factor, x, y) {
  const k = Math.min(4, Math.max(0.01, view.k * factor));
  view = {x: x - (x - view.x) * k / view.k, y: y - (y - view.y) * k / view.k, k};
  draw();
}
function whole() {
  const box = svg.getBoundingClientRect(), w = extent.right - extent.left, h = extent.bottom - extent.top;
  const k = Math.min(1.2, (box.width - 40) / w, (box.height - 40) / h);
  return {k, x: (box.width - w * k) / 2 - extent.left * k, y: (box.height - h * k) / 2 - extent.top * k};
}
function fit() { view = whole(); draw(); }
// Legible from the start: the top of a tall graph rather than all of it.
function start() {
  view = whole();
  const middle = svg.getBoundingClientRect().width / 2;
  if (view.k < 0.7) view = {k: 0.9, x: middle - layers[0][0].x * 0.9, y: 45};
  draw();
}
function show(item) {
  const box = svg.getBoundingClientRect(), x = item.x * view.k + view.x, y = yOf(item) * view.k + view.y;
  if (x > 60 && x < box.width - 60 && y > 40 && y < box.height - 40 && view.k >= 0.3) return;
  const k = Math.max(view.k, 0.8);
  view = {k, x: box.width / 2 - item.x * k, y: box.height / 2 - yOf(item) * k};
  draw();
}
svg.addEventListener("wheel", e => {
  e.preventDefault();
  const box = svg.getBoundingClientRect();
  zoom(Math.exp(-e.deltaY * 0.0015), e.clientX - box.left, e.clientY - box.top);
}, {passive: false});
const touches = new Map();
svg.addEventListener("pointerdown", e => { touches.set(e.pointerId, e); svg.classList.add("dragging"); });
window.addEventListener("pointermove", e => {
  const before = touches.get(e.pointerId);
  if (!before) return;
  const dx = e.clientX - before.clientX, dy = e.clientY - before.clientY;
  if (touches.size === 1) { view.x += dx; view.y += dy; draw(); }
  else {
    const other = [...touches.values()].find(t => t.pointerId !== e.pointerId), box = svg.getBoundingClientRect();
    const was = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY);
    const is = Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY);
    if (was > 0) zoom(is / was, (e.clientX + other.clientX) / 2 - box.left,
        (e.clientY + other.clientY) / 2 - box.top);
  }
  touches.set(e.pointerId, e);
});
for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, e => {
  touches.delete(e.pointerId);
  if (!touches.size) svg.classList.remove("dragging");
});
function middle(factor) { const box = svg.getBoundingClientRect(); zoom(factor, box.width / 2, box.height / 2); }
by("in").addEventListener("click", () => middle(1.3));
by("out").addEventListener("click", () => middle(1 / 1.3));
by("fit").addEventListener("click", fit);
window.addEventListener("keydown", e => {
  if (e.target.tagName === "INPUT" || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === "+" || e.key === "=") middle(1.3);
  if (e.key === "-") middle(1 / 1.3);
  if (e.key === "0") fit();
});
by("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
