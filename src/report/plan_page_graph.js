// SPDX-License-Identifier: Apache-2.0
// The plan's data as items and edges, and where each of them is drawn.
const data = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);

// Names come from a model file: they reach the page as text nodes and attribute values only.
const kSvgTags = new Set(["svg", "g", "rect", "path", "text", "title", "line", "pattern", "circle", "defs"]);
function make(tag, attributes, ...children) {
  const element = kSvgTags.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag)
                                    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  for (const child of children) element.append(child);
  return element;
}

const time = us => us >= 1000 ? (us / 1000).toFixed(2) + " ms" : us.toFixed(us < 10 ? 2 : 1) + " \u00b5s";
const size = b => b < 1024 ? b + " B"
  : b < 1048576 ? (b / 1024).toFixed(1) + " KiB" : (b / 1048576).toFixed(1) + " MiB";
const cut = (s, n) => s.length > n ? s.slice(0, n - 1) + "\u2026" : s;
const extents = shape => shape.length ? shape.join("\u00d7") : "scalar";
const measured = data.measured_us !== undefined;

// What a box says of its operator: the window where there is one, else the first attributes.
function summary(node) {
  const d = node.details || {}, words = [];
  const list = name => d[name] === undefined ? null : d[name].split(", ");
  const unusual = (name, usual, word) => {
    const values = list(name);
    if (!values || values.every(v => v === usual)) return;
    words.push(word + " " + (values.every(v => v === values[0]) ? values[0] : values.join("\u00d7")));
  };
  if (list("kernel_shape")) {
    words.push(list("kernel_shape").join("\u00d7"));
    unusual("strides", "1", "stride");
    unusual("dilations", "1", "dilation");
    unusual("group", "1", "group");
  } else {
    for (const [name, value] of Object.entries(d)) {
      if (name !== "posts" && name.length + value.length < 24 && words.length < 2) words.push(name + " " + value);
    }
  }
  if (d.posts) words.push("then " + d.posts);
  return words.join(", ") || node.kernel;
}

// Items: operators, and the model's inputs and outputs as small items of their own.
const items = [], producer = new Map(), readers = new Map();
function read(value, item, layout) {
  if (!readers.has(value)) readers.set(value, []);
  readers.get(value).push({item, layout});
}
const movesOf = new Map();
for (const c of data.conversions) {
  if (!movesOf.has(c.id)) movesOf.set(c.id, []);
  movesOf.get(c.id).push(c);
}
function portItem(kind, port) {
  const item = {kind, name: port.name, what: port.name || "(no name)", how: "model " + kind, layout: port.layout,
                shape: port.shape, port, in: [], out: []};
  items.push(item);
  return item;
}
for (const port of data.inputs) producer.set(port.id, {item: portItem("input", port), layout: port.layout});
for (const node of data.nodes) {
  const first = node.outputs[0] || {layout: "", shape: []};
  const item = {kind: "node", name: node.name, what: node.op, how: summary(node), layout: first.layout,
      shape: first.shape,
                node, us: node.measured_us === undefined ? (measured ? 0 : node.cost_us) : node.measured_us, in: [],
                    out: []};
  items.push(item);
  for (const o of node.outputs) producer.set(o.id, {item, layout: o.layout});
  for (const i of node.inputs) if (!i.constant) read(i.id, item, i.layout);
}
for (const port of data.outputs) read(port.id, portItem("output", port), port.layout);

const edges = [];
for (const [value, list] of readers) {
  const from = producer.get(value);
  if (!from) continue;
  const seen = new Map();
  for (const r of list) {
    if (seen.has(r.item) && seen.get(r.item) === r.layout) continue;
    seen.set(r.item, r.layout);
    const move = (movesOf.get(value) || []).find(c => c.to === r.layout && r.layout !== from.layout);
    const edge = {from: from.item, to: r.item, value, move};
    edges.push(edge);
    from.item.out.push(edge);
    r.item.in.push(edge);
  }
}

// Layers: the longest path from the inputs; long edges get a bend in each layer.
const kWide = 196, kHigh = 66, kBand = 21, kGap = 26, kDown = 116;
for (const item of items) {  // items are in topological order
  item.layer = item.in.reduce((m, e) => Math.max(m, e.from.layer + 1), 0);
}
for (const item of items) {
  if (item.kind === "input" && item.out.length) item.layer = Math.min(...item.out.map(e => e.to.layer)) - 1;
}
const lowest = items.reduce((m, i) => Math.min(m, i.layer), 0);
for (const item of items) item.layer -= lowest;
const layers = [];
function place(thing) {
  while (layers.length <= thing.layer) layers.push([]);
  thing.up = []; thing.down = [];
  layers[thing.layer].push(thing);
}
for (const item of items) { item.width = kWide; place(item); }
for (const edge of edges) {
  edge.bends = [];
  let last = edge.from;
  for (let l = edge.from.layer + 1; l < edge.to.layer; ++l) {
    const bend = {layer: l, width: 16};
    place(bend);
    last.down.push(bend); bend.up.push(last);
    edge.bends.push(bend);
    last = bend;
  }
  last.down.push(edge.to); edge.to.up.push(last);
}
const centre = list => list.reduce((s, t) => s + t.x, 0) / list.length;
for (const layer of layers) {
  let x = 0;
  for (const t of layer) { t.x = x + t.width / 2; x += t.width + kGap; }
}
// Order by the mean of the neighbours, then push those that overlap aside: a few sweeps down and up.
function settle(layer, side) {
  for (const t of layer) t.want = t[side].length ? centre(t[side]) : t.x;
  layer.sort((a, b) => a.want - b.want);
  const clusters = [];
  for (const t of layer) {
    let c = {things: [t], width: t.width, x: t.want - t.width / 2};
    while (clusters.length && clusters[clusters.length - 1].x + clusters[clusters.length - 1].width + kGap > c.x) {
      const left = clusters.pop();
      // The mean of where each member wants the cluster's left edge to be.
      const n = left.things.length, m = c.things.length;
      const edge = (left.x * n + (c.x - left.width - kGap) * m) / (n + m);
      for (const thing of c.things) left.things.push(thing);
      c = {things: left.things, width: left.width + kGap + c.width, x: edge};
    }
    clusters.push(c);
  }
  for (const c of clusters) {
    let x = c.x;
    for (const t of c.things) { t.x = x + t.width / 2; x += t.width + kGap; }
  }
}
for (let sweep = 0; sweep < 6; ++sweep) {
  for (let l = 1; l < layers.length; ++l) settle(layers[l], "up");
  for (let l = layers.length - 2; l >= 0; --l) settle(layers[l], "down");
}
const yOf = t => t.layer * kDown;

// Colours: a layout's comes with the plan and is the same in all plans; layouts that share one differ in their pattern.
const lookOf = new Map(data.layouts.filter(l => l.colour).map(l => [l.layout, l]));
const kHeat = ["#fef0d9", "#fdcc8a", "#fc8d59", "#e34a33", "#990000"];
const most = items.reduce((m, i) => Math.max(m, i.us || 0), 1e-9);
const mostPredicted = data.nodes.reduce((m, n) => Math.max(m, n.cost_us), 1e-9);
const plain = {colour: "#e5e7eb", ink: "#000000", pattern: 0};
const layoutLook = layout => lookOf.get(layout) || plain;
// `share` is of the longest time; the root spreads the short ones.
function heatLook(share) {
  const heat = Math.min(kHeat.length - 1, Math.floor(kHeat.length * Math.sqrt(share)));
  return {colour: kHeat[heat], ink: heat === kHeat.length - 1 ? "#ffffff" : "#000000", pattern: 0};
}
// Marks on a tile of 8 x 8, for patterns 1, 2, ...; in black or white, whichever the colour takes.
const kPatterns = ["M-2 2L2-2M0 8L8 0M6 10L10 6", "M2 2h2v2h-2zM6 6h2v2h-2z", "M-2 6L2 10M0 0L8 8M6-2L10 2",
    "M0 2h8M0 6h8",
                   "M2 0v8M6 0v8", "M0 4h8M4 0v8", "M0 0L8 8M8 0L0 8"];
function patterns() {
  const defs = make("defs");
  for (const ink of ["#000000", "#ffffff"]) kPatterns.forEach((d, i) => defs.append(
    make("pattern", {id: `p${i + 1}${ink.slice(1, 2)}`, width: 8, height: 8, patternUnits: "userSpaceOnUse"},
      make("path", {d, stroke: ink, "stroke-width": 1.3, "stroke-opacity": .55, fill: "none"}))));
  return defs;
}
const patternFill = look => look.pattern ? `url(#p${look.pattern}${look.ink.slice(1, 2)})` : "none";
