// SPDX-License-Identifier: Apache-2.0
// The panels beside the graph, its key, and the arena.
function swatch(look) {
  return make("svg", {class: "swatch", viewBox: "0 0 22 14", "aria-hidden": "true"},
    make("rect", {x: .5, y: .5, width: 21, height: 13, rx: 3, fill: look.colour}),
    make("rect", {x: .5, y: .5, width: 21, height: 13, rx: 3, fill: patternFill(look)}));
}
function row(cells, attributes) {
  return make("tr", attributes, ...cells.map(c => c instanceof Node ? c : make("td", {}, c)));
}
const number = s => make("td", {class: "number"}, s);
const head = (...names) => make("tr", {}, ...names.map(n => make("th", n.startsWith(">") ? {class: "number"} : {},
    n.replace(">", ""))));
const code = layout => make("code", {title: meaningOf.get(layout) || ""}, layout);
const meaningOf = new Map([...data.layouts.map(l => [l.layout, l.meaning]), ...data.kernels.map(k => [k.kernel,
    k.meaning])]);
const took = thing => thing.measured_us === undefined ? "" : time(thing.measured_us);

function operands(title, list) {
  if (!list.length) return [];
  return [make("h3", {}, title), make("table", {}, ...list.map(o => row([
    make("td", {}, o.name + (o.constant ? " (constant)" : ""), make("br"),
      make("span", {class: "quiet"}, `${o.type} ` + (o.shape.length ? o.shape.map((n,
          i) => `${o.axes[i]}\u00a0${n}`).join(", ") : "scalar"))),
    make("td", o.layout.length < 18 ? {class: "word"} : {}, code(o.layout))])))];
}
function moveTable(list) {
  return make("table", {}, ...list.map(c => {
    const edge = edges.find(e => e.move === c), words = `${c.from} \u2192 ${c.to}`;
    return row([make("td", {}, c.value, make("br"), edge ? link(words, edge) : make("code", {}, words), make("br"),
      make("span", {class: "quiet"}, c.reason)), number(size(c.bytes)), number(took(c) || time(c.cost_us))]);
  }));
}
function link(words, thing) {
  const button = make("button", {title: words}, words);
  button.addEventListener("click", () => { pick(thing); show(thing.move ? thing.to : thing); });
  return button;
}
let picked = null, focusable = null;
function pick(thing) {
  for (const e of document.querySelectorAll(".picked, .near")) e.classList.remove("picked", "near");
  picked = thing;
  thing.element.classList.add("picked");
  const panel = by("operator");
  panel.replaceChildren();
  panel.scrollTop = 0;
  choose("operator");
  if (thing.move) {
    panel.append(make("h2", {}, "conversion"), moveTable([thing.move]),
      make("h3", {}, "From"), make("div", {}, code(thing.move.from), " ", meaningOf.get(thing.move.from) || ""),
      make("h3", {}, "To"), make("div", {}, code(thing.move.to), " ", meaningOf.get(thing.move.to) || ""));
    return;
  }
  if (focusable) focusable.setAttribute("tabindex", -1);
  focusable = thing.element;
  focusable.setAttribute("tabindex", 0);
  for (const e of [...thing.in, ...thing.out]) if (!e.move) e.element.classList.add("near");
  const values = new Set([...thing.in.map(e => e.value),
      ...(thing.kind === "node" ? thing.node.outputs.map(o => o.id) : [thing.port.id])]);
  for (const box of boxes) if (values.has(box.block.id)) box.shape.classList.add("picked");
  if (thing.kind === "node") panel.append(...operatorPanel(thing.node));
  else panel.append(make("h2", {}, thing.port.name || "(no name)"), make("div", {class: "quiet"},
      `model ${thing.kind}, data format ${thing.port.data_format}`),
    ...operands(thing.kind === "input" ? "Given" : "Wanted", [thing.port]));
  const moves = [...new Set([...thing.in, ...thing.out].filter(e => e.move).map(e => e.move))];
  panel.append(make("h3", {}, "Conversions"));
  panel.append(moves.length ? moveTable(moves) : make("div", {class: "quiet"}, "none"));
}
function operatorPanel(n) {
  const out = [make("h2", {}, n.name || "(no name)"),
    make("div", {class: "quiet"}, `${n.op}, number ${n.number}, ${n.category}; ${n.rule_format} by MACE's rule`)];
  const times = make("div", {}, make("b", {}, time(n.cost_us)), " predicted");
  if (n.measured_us !== undefined) times.append(", ", make("b", {}, time(n.measured_us)), " measured");
  out.push(times);
  const details = Object.entries(n.details);
  if (details.length) {
    out.push(make("h3", {}, "Asked to do"), make("table", {}, ...details.map(([name, value]) =>
      row([make("td", {class: "keep quiet"}, name), value]))));
  }
  const layout = list => list.length ? list[0].layout : "none";
  const layouts = layout(n.inputs) + " -> " + layout(n.outputs);
  const way = (l, attributes) => row([make("td", {}, code(l.layouts)),
    make("td", {title: meaningOf.get(l.kernel) || ""}, l.kernel), number(time(l.cost_us))], attributes);
  out.push(make("h3", {}, n.lost.length ? "Ways to run it: the first was chosen" : "The way to run it"),
    make("table", {class: "ways"}, head("layouts", "kernel", ">alone"),
      way({layouts, kernel: n.kernel, cost_us: n.cost_us}, {class: "chosen"}), ...n.lost.map(l => way(l))));
  if (meaningOf.get(n.kernel)) out.push(make("div", {class: "quiet"}, `${n.kernel}: ${meaningOf.get(n.kernel)}.`));
  return [...out, ...operands("Reads", n.inputs), ...operands("Writes", n.outputs)];
}

// What takes most time.
(function slowest() {
  const kMost = 40;
  const us = thing => thing.measured_us === undefined ? (measured ? 0 : thing.cost_us) : thing.measured_us;
  const all = [...items.filter(i => i.kind === "node").map(i => ({thing: i, of: i.node,
      words: i.node.name || i.node.op, how: `${i.node.op}, ${i.node.kernel}`})),
    ...data.conversions.map(c => ({thing: edges.find(e => e.move === c), of: c, words: c.value,
        how: `conversion ${c.from} \u2192 ${c.to}`}))];
  all.sort((a, b) => us(b.of) - us(a.of));
  const top = us((all[0] || {of: {cost_us: 1}}).of) || 1;
  const table = make("table", {}, measured ? head("", ">measured", ">predicted") : head("", ">predicted"));
  for (const one of all.slice(0, kMost)) {
    const bar = make("span", {class: "share"});
    bar.style.width = `${Math.max(0.5, 100 * us(one.of) / top)}%`;
    const cells = [make("td", {}, one.thing ? link(cut(one.words, 60), one.thing) : cut(one.words, 60), make("br"),
                        make("span", {class: "quiet"}, one.how), bar)];
    if (measured) cells.push(number(took(one.of) || "-"));
    table.append(row([...cells, number(time(one.of.cost_us))]));
  }
  const kernels = make("table", {}, head("kernel", ">operators", ">predicted", ">share"));
  for (const k of data.kernels) {
    kernels.append(row([make("td", {title: k.meaning}, k.kernel), number(String(k.operators)),
        number(time(k.cost_us)),
                        number((100 * k.cost_us / Math.max(data.cost_us, 1e-9)).toFixed(1) + " %")]));
  }
  by("slowest").append(make("h3", {style: "margin-top:0"}, "Kernels"), kernels,
    make("h3", {}, all.length > kMost ? `The ${kMost} slowest of ${all.length} operators and conversions`
                                       : "Operators and conversions"), table);
})();

// What the names mean.
(function meanings() {
  const table = list => make("table", {class: "meanings"}, ...list);
  const named = (name, words, mark) => row([make("td", mark ? {class: "swatched"} : {}, mark || ""),
    make("td", {}, make("b", {}, name), make("br"), make("span", {class: "quiet"}, words))]);
  const plainRow = (name, words) => row([make("td", {}, make("b", {}, name), make("br"), make("span",
      {class: "quiet"}, words))]);
  const panel = by("meanings"), values = data.layouts.filter(l => l.tensors),
      weights = data.layouts.filter(l => !l.tensors);
  panel.append(make("h3", {style: "margin-top:0"},
      "Layouts: axes from the outermost to the innermost, whose elements lie side by side"),
    table(values.map(l => named(l.layout, `${l.tensors} tensor${l.tensors === 1 ? "" : "s"}: ${l.meaning}`,
        swatch(l)))));
  if (weights.length) {
    panel.append(make("h3", {}, "Layouts of weights, converted before the first run"),
      table(weights.map(l => plainRow(l.layout,
          `${l.constants} constant${l.constants === 1 ? "" : "s"}: ${l.meaning}`))));
  }
  panel.append(make("h3", {}, "How to read an expression"), table([
    plainRow("c/16", "channels in blocks of 16: which block"), plainRow("c%16", "which channel of its block"),
    plainRow("nChw16c", "short for n c/16 h w c%16: the capital letter is split, the number says into what"),
    plainRow("(h w)~16B", "rows and columns, then unused bytes up to a multiple of 16"),
    plainRow("y: x: lane:", "an image of a device: its rows, its texels, the four numbers of a texel")]));
  const used = data.kernels.filter(k => k.meaning), own = data.kernels.filter(k => !k.meaning);
  panel.append(make("h3", {}, "Kernels"), table(used.map(k => plainRow(k.kernel, k.meaning))));
  if (own.length) panel.append(make("div", {class: "quiet"},
      "Called as their operators: " + own.map(k => k.kernel).join(", ")));
  panel.append(make("h3", {}, "Categories, MACE's"), table([
    plainRow("fixed", "runs only in the layouts that its kernels offer: convolution, pooling, resize"),
    plainRow("transposable", "runs in any layout, with its axes renamed: elementwise, concat, softmax"),
    plainRow("source", "needs the order of the model file: reshape, flatten, squeeze"),
    plainRow("AUTO by MACE's rule",
        "MACE would run it in the format of the runtime; NCHW or NHWC: in the file's own"),
    plainRow("NCHW, NHWC, NONE",
        "the data format of a tensor: which of its axes are batch, channel, row and column, or that it is no image")]));
  panel.append(make("h3", {}, "Words"), table([
    plainRow("conversion", "a tensor is copied from one layout into another"),
    plainRow("posts", "what a kernel does to its results before it stores them: bias, activation, residual"),
    plainRow("alone", "the time of the operator without conversions, as predicted"),
    plainRow("arena", "the one allocation in which all tensors but the weights lie")]));
})();

const kTabs = ["operator", "slowest", "meanings"];
function choose(name) {
  for (const tab of kTabs) {
    by(tab).hidden = tab !== name;
    by("tab-" + tab).setAttribute("aria-selected", String(tab === name));
  }
}
for (const tab of kTabs) by("tab-" + tab).addEventListener("click", () => choose(tab));

// The arena.
const boxes = [];
(function arena() {
  const picture = by("arena"), blocks = data.arena.blocks, steps = Math.max(1, data.arena.steps),
      total = Math.max(1, data.arena_bytes);
  const percent = part => (100 * part).toFixed(3) + "%";
  for (const block of blocks) {
    const h = Math.max(0.004, block.bytes / total), look = layoutLook(block.layout);
    const place = {x: percent(block.first / steps), width: percent((block.last - block.first + 1) / steps),
                   y: percent(1 - block.offset / total - h), height: percent(h)};
    const shape = make("rect", {...place, fill: look.colour},
      make("title", {}, `${block.name}: ${block.layout}, ${size(block.bytes)} at ${block.offset}, ` +
                        `steps ${block.first} to ${block.last}`));
    const owner = producer.get(block.id);
    if (owner) shape.addEventListener("click", () => { pick(owner.item); show(owner.item); });
    boxes.push({shape, block});
    picture.append(shape);
    if (look.pattern) picture.append(make("rect", {...place, fill: patternFill(look), class: "marks"}));
  }
  by("most").textContent = size(data.arena_bytes);
  by("last").textContent = "step " + (steps - 1);
  by("arena-size").textContent = `${size(data.arena_bytes)} for ${blocks.length} tensors in ${data.arena.steps} steps`;
})();

// Header, key, search.
document.title = "Plan of " + data.model;
by("title").textContent = data.model;
function fact(value, words) { by("facts").append(make("span", {}, make("b", {}, value), " " + words)); }
if (measured) fact(time(data.measured_us), "measured");
fact(time(data.cost_us), `predicted (${data.planner}, ${data.threads} thread${data.threads === 1 ? "" : "s"})`);
fact(time(data.rule_cost_us), "MACE's rule");
fact(time(data.source_cost_us), "source order");
fact(String(data.conversions.length),
    `conversion${data.conversions.length === 1 ? "" : "s"}, ` + size(data.conversions.reduce((s, c) => s + c.bytes,
        0)) +
     " of " + size(data.touched_bytes) + " touched");
fact(size(data.weight_bytes), "weights");

function key(mode) {
  const list = [];
  if (mode === "layout") {
    for (const l of data.layouts) if (l.tensors) {
      list.push(make("li", {title: l.meaning}, swatch(l), make("span", {}, l.layout + " ", make("span",
          {class: "quiet"}, String(l.tensors)))));
    }
  } else {
    const top = mode === "predicted" ? mostPredicted : most, n = kHeat.length;
    kHeat.forEach((colour, i) => list.push(make("li", {}, swatch({colour, pattern: 0, ink: "#000000"}),
      `up to ${time(top * (i + 1) * (i + 1) / (n * n))}`)));
  }
  list.push(make("li", {}, make("svg", {class: "swatch", viewBox: "0 0 22 14", "aria-hidden": "true"}, make("line",
      {x1: 0, x2: 22, y1: 7, y2: 7})), "conversion"));
  by("key").replaceChildren(...list);
}
for (const [mode, words] of [["layout", "Layout"], ...(measured ? [["measured", "Measured time"], ["predicted",
    "Predicted"]] : [["predicted", "Predicted time"]])]) {
  const button = make("input", {type: "radio", name: "by", value: mode, id: "by-" + mode});
  button.addEventListener("change", () => { paint(mode); key(mode); });
  by("by").append(make("label", {}, button, make("span", {}, words)));
}
by("by-layout").checked = true;
paint("layout");
key("layout");

const names = new Map();
for (const item of items) {
  if (!names.has(item.name)) { names.set(item.name, item); by("names").append(make("option", {value: item.name})); }
}
by("find").addEventListener("change", e => {
  const wanted = e.target.value.toLowerCase();
  const item = names.get(e.target.value) || items.find(i => i.name.toLowerCase().includes(wanted) ||
    i.what.toLowerCase().includes(wanted));
  if (wanted && item) { pick(item); show(item); item.element.focus({preventScroll: true}); }
});
if (items.length) {
  start();
  pick(items.find(i => i.kind === "node") || items[0]);
}
document.documentElement.dataset.ready = String(items.length);
