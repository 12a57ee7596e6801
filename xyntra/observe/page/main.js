// SPDX-License-Identifier: MIT OR Apache-2.0
// Ties the two graphs, the sidebar, the tables and the search together.

const content = JSON.parse(document.getElementById("content").textContent);
const byId = (id) => document.getElementById(id);
const longest = content.kernels.reduce((most, k) => Math.max(most, k.measured ?? k.predicted ?? 0), 1);
const shortName = (name) => name.startsWith(content.prefix) ? name.slice(content.prefix.length) : name;
const holds = content.kernels.map(() => []);
content.before.nodes.forEach((node, i) => (node.kernels || []).forEach((k) => holds[k].push(i)));
const placeOfKernel = new Map();
content.after.nodes.forEach((node, i) => { if (node.role === "kernel") placeOfKernel.set(node.kernel, i); });
const state = { kernel: -1, source: -1, query: "", matches: null, cursor: -1 };

const PLAIN = ["#f2f2f2", "#9a9a9a", "#2a2d33"];

function portLook(node) {
  return { title: clipStart(node.name, 22), text: `${node.role}, ${node.op}`, colours: PLAIN, plain: true };
}

const sourceLooks = content.before.nodes.map((node) => {
  if (node.role !== "node") return portLook(node);
  // Of several kernels, the one that computes most gives the colour.
  const work = (k) => (content.kernels[k].once ? -1 : content.kernels[k].flops);
  const [held] = [...node.kernels].sort((a, b) => work(b) - work(a));
  const isHeld = held !== undefined;
  return {
    title: clipEnd(node.op, 22), text: clipStart(shortName(node.name), 25),
    colours: isHeld ? kindColours(content.kernels[held].kind) : PLAIN, dashed: !isHeld,
  };
});

const kernelLooks = content.after.nodes.map((node) => {
  if (node.role !== "kernel") return portLook(node);
  const kernel = content.kernels[node.kernel];
  const time = kernel.measured ?? kernel.predicted;
  const rest = kernel.nodes.length - 1;
  const more = rest > 0 ? ` +${rest}` : "";
  return {
    title: `${kernel.label} ${kernel.kind}`, aside: time === null ? "" : duration(time),
    text: clipStart(shortName(kernel.nodes[0] || kernel.name), 30 - more.length) + more,
    colours: kindColours(kernel.kind), share: time === null ? 0 : time / longest,
  };
});

const select = {
  kernel(k, from) {
    Object.assign(state, { kernel: k, source: -1 });
    refresh(from);
  },
  source(node, from) {
    Object.assign(state, { kernel: -1, source: node });
    refresh(from);
  },
  clear() {
    Object.assign(state, { kernel: -1, source: -1 });
    refresh("none");
  },
};

function shareKernel(source, target) {
  const { nodes } = content.before;
  const own = nodes[target].kernels || [];
  return (nodes[source].kernels || []).some((kernel) => own.includes(kernel));
}

const before = new GraphView(byId("before").querySelector("canvas"), content.before, {
  nodeHeight: 36, rowHeight: 62, look: (node) => sourceLooks[node], isInside: shareKernel,
  hint: (node) => `${content.before.nodes[node].op} ${content.before.nodes[node].name}`,
  pick: (node) => (node < 0 ? select.clear() : select.source(node, "before")),
});
const after = new GraphView(byId("after").querySelector("canvas"), content.after, {
  nodeHeight: 42, rowHeight: 70, look: (node) => kernelLooks[node], isInside: () => false,
  hint: (node) => kernelHint(content.after.nodes[node]),
  pick: (node) => {
    if (node < 0) return select.clear();
    const { role, kernel } = content.after.nodes[node];
    return role === "kernel" ? select.kernel(kernel, "after") : undefined;
  },
});
const sidebar = new Sidebar(byId("side"), select);
const tables = new Tables(byId("tables"), select);

function kernelHint(node) {
  if (node.role !== "kernel") return node.name;
  const { label, kind, nodes } = content.kernels[node.kernel];
  return `${label} ${kind}\n${nodes.slice(0, 20).join("\n")}${nodes.length > 20 ? "\n…" : ""}`;
}

// Show what is selected everywhere; the view that was clicked stays where it is.
function refresh(from) {
  const { kernel, source } = state;
  const matches = state.matches;
  let kernels = [];
  let sources = [];
  let near = [];
  if (kernel >= 0) {
    kernels = [kernel];
    sources = holds[kernel];
    sidebar.kernel(kernel, sources);
  } else if (source >= 0) {
    sources = [source];
    kernels = content.before.nodes[source].kernels || [];
    near = kernels.flatMap((k) => holds[k]);
    sidebar.source(source);
  } else if (matches) {
    sidebar.results([...matches.before]);
  } else {
    sidebar.overview();
  }
  const placed = kernels.map((k) => placeOfKernel.get(k)).filter((place) => place !== undefined);
  const around = placed.flatMap((place) => [...content.after.reads[place], ...after.readers[place]]);
  before.highlight(sources, near, matches && matches.before);
  after.highlight(placed, around, matches && matches.after);
  if (from !== "before" && from !== "none") before.show(sources);
  if (from !== "after" && from !== "none") after.show(placed);
  tables.mark(kernels);
}

const words = (parts) => parts.join("\n").toLowerCase();
const sourceWords = content.before.nodes.map((node) => ({
  kind: (node.kernels || []).map((k) => content.kernels[k].kind), op: node.op.toLowerCase(),
  all: words([node.name, node.op, ...(node.operations || []),
    ...(node.kernels || []).map((k) => content.kernels[k].kind)]),
}));
const kernelWords = content.kernels.map((kernel) => ({
  kind: [kernel.kind], op: "",
  all: words([kernel.name, kernel.kind, kernel.bound || "", ...kernel.nodes]),
}));
holds.forEach((nodes, k) => {
  kernelWords[k].all += `\n${words(nodes.map((node) => content.before.nodes[node].op))}`;
  kernelWords[k].op = words(nodes.map((node) => content.before.nodes[node].op));
});

function fits(entry, terms) {
  return terms.every((term) => {
    if (term.startsWith("kind:")) return entry.kind.includes(term.slice(5));
    if (term.startsWith("op:")) return entry.op.split("\n").includes(term.slice(3));
    return entry.all.includes(term);
  });
}

function search(query) {
  state.query = query;
  state.cursor = -1;
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  state.matches = null;
  if (terms.length) {
    const kernels = new Set(content.kernels.map((_, k) => k).filter((k) => fits(kernelWords[k], terms)));
    state.matches = {
      before: new Set(sourceWords.map((_, i) => i).filter((i) => fits(sourceWords[i], terms))),
      after: new Set([...kernels].map((k) => placeOfKernel.get(k)).filter((p) => p !== undefined)),
      kernels,
    };
  }
  Object.assign(state, { kernel: -1, source: -1 });
  byId("matches").textContent = state.matches
    ? `${state.matches.before.size} nodes, ${state.matches.kernels.size} kernels` : "";
  for (const chip of byId("legend").children) {
    chip.setAttribute("aria-pressed", String(terms.includes(`kind:${chip.dataset.kind}`)));
  }
  tables.show(state.matches && state.matches.kernels);
  refresh("none");
  if (state.matches && state.matches.before.size) before.show([[...state.matches.before][0]]);
  if (state.matches && state.matches.after.size) after.show([[...state.matches.after][0]]);
}

function nextMatch(step) {
  const found = state.matches ? [...state.matches.before] : [];
  if (!found.length) return;
  state.cursor = (state.cursor + step + found.length) % found.length;
  select.source(found[state.cursor]);
  byId("matches").textContent = `${state.cursor + 1} of ${found.length} nodes`;
}

function listenToSearch() {
  const input = byId("query");
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => search(input.value), 80);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    if (input.value !== state.query) search(input.value);
    nextMatch(event.shiftKey ? -1 : 1);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.select();
    } else if (event.key === "Escape") {
      if (state.kernel < 0 && state.source < 0) input.value = "";
      if (input.value !== state.query) search(input.value);
      select.clear();
    }
  });
}

function listenToTools() {
  for (const [id, view] of [["before", before], ["after", after]]) {
    for (const button of byId(id).querySelectorAll("button")) {
      const act = { in: () => view.zoom(1.4), out: () => view.zoom(1 / 1.4), fit: () => view.fit() };
      button.onclick = act[button.dataset.do];
    }
  }
  const splitter = byId("splitter");
  splitter.addEventListener("pointerdown", (event) => splitter.setPointerCapture(event.pointerId));
  splitter.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1) return;
    byId("tables").style.height = `${Math.max(60, innerHeight - event.clientY - 4)}px`;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    fillLegend();
    tables.render();
    refresh("none");
  });
}

function fillLegend() {
  const counts = new Map();
  for (const { kind, once } of content.kernels) if (!once) counts.set(kind, (counts.get(kind) || 0) + 1);
  const chips = [...counts].sort((a, b) => b[1] - a[1]).map(([kind, number]) => {
    const chip = element("button", { "aria-pressed": "false", title: `Show ${kind} kernels` },
      kindMark(kind), element("span", { className: "soft" }, String(number)));
    chip.dataset.kind = kind;
    chip.onclick = () => {
      byId("query").value = state.query === `kind:${kind}` ? "" : `kind:${kind}`;
      search(byId("query").value);
    };
    return chip;
  });
  byId("legend").replaceChildren(...chips);
}

function fillHeader() {
  const { totals, title } = content;
  const old = totals.unfused || {};
  const entry = (name, from, to, show) => {
    if (to === null) return null;
    const shown = [element("b", {}, show(to))];
    if (from) {
      const factor = to > 0 && from > to ? `, ${parseFloat((from / to).toPrecision(3))} × less` : "";
      shown.push(element("span", { className: "soft" }, ` from ${show(from)}${factor}`));
    }
    return element("div", {}, element("dt", {}, name), element("dd", {}, shown));
  };
  byId("title").textContent = title || "Fusion";
  byId("totals").append(...[
    entry("kernels a call", old.kernels, totals.kernels, String),
    entry("bytes", old.bytes, totals.bytes, bytes),
    entry("operations", null, totals.flops, flops),
    entry("predicted", old.nanoseconds, totals.predicted, duration),
    entry("measured", null, totals.measured, duration),
  ].filter(Boolean));
  const nodes = content.before.nodes.filter((node) => node.role === "node").length;
  byId("before").querySelector("small").textContent = `${nodes} nodes, ${content.operations} operations`;
  byId("after").querySelector("small").textContent = `${totals.kernels} kernels a call`;
}

fillHeader();
fillLegend();
listenToSearch();
listenToTools();
refresh("none");
window.fusionPage = { before, after, state, select, content, placeOfKernel };
