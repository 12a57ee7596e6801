// SPDX-License-Identifier: MIT OR Apache-2.0
// What is known about the kernel or node that is selected, or about the whole.

const LISTED = 200;

class Sidebar {
  constructor(root, select) {
    this.root = root;
    this.select = select;
  }

  show(...children) {
    this.root.replaceChildren(...children.flat(Infinity).filter((child) => child !== null));
    this.root.scrollTop = 0;
  }

  kernelLink(kernel, text) {
    const label = text || `kernel ${content.kernels[kernel].label}`;
    return element("button", { className: "link", onclick: () => this.select.kernel(kernel) }, label);
  }

  nodeLink(node) {
    const { name, op } = content.before.nodes[node];
    const link = element("button", { className: "link", onclick: () => this.select.source(node) }, name);
    return element("li", {}, link, element("span", { className: "soft" }, ` ${op}`));
  }

  facts(pairs) {
    const cells = pairs.filter(([, value]) => value !== null).map(([name, value]) => [
      element("span", {}, name), element("span", {}, value)]);
    return element("div", { className: "facts" }, cells);
  }

  list(title, items, make = (item) => item) {
    if (!items.length) return null;
    const shown = items.slice(0, LISTED).map(make);
    const rest = items.length - shown.length;
    return [
      element("h4", {}, `${title} (${items.length})`),
      element("ul", {}, shown, rest ? element("li", { className: "soft" }, `and ${rest} more`) : null),
    ];
  }

  overview() {
    const costly = content.kernels.map((_, i) => i)
      .filter((i) => content.kernels[i].predicted !== null && !content.kernels[i].once)
      .sort((a, b) => content.kernels[b].predicted - content.kernels[a].predicted).slice(0, 8);
    this.show(
      element("p", { className: "soft" },
        "Click a kernel to see the nodes that it holds, or a node to see its kernel. Thick lines on"
        + " the left stay inside a kernel; dashed nodes are in none. Drag or scroll to move, Ctrl and"
        + " scroll to zoom. / searches, Esc clears."),
      this.reasons(),
      this.list("Longest kernels", costly.map((kernel) => {
        const { kind, predicted, label } = content.kernels[kernel];
        return element("li", {}, this.kernelLink(kernel, `#${label} ${kind}`), ` ${duration(predicted)}`);
      })),
    );
  }

  reasons() {
    if (!content.recorded) {
      return element("p", { className: "soft" }, "Why kernels stayed apart was not recorded.");
    }
    const groups = new Map();
    for (const boundary of content.boundaries) {
      const group = groups.get(boundary.reason) || { count: 0, bytes: 0, time: 0 };
      group.count += 1;
      group.bytes += boundary.bytes;
      group.time += boundary.nanoseconds;
      groups.set(boundary.reason, group);
    }
    const sorted = [...groups].sort(([, a], [, b]) => b.time - a.time);
    return [
      element("h4", {}, "Why kernels stayed apart"),
      sorted.map(([reason, group]) => element("div", { className: "boundary" },
        element("div", {}, element("b", {}, `${group.count} × `),
          `${bytes(group.bytes)}, ${duration(group.time)}`),
        element("div", { className: "soft" }, content.reasons[reason]))),
    ];
  }

  results(found) {
    this.show(this.list("Matching nodes", found, (node) => this.nodeLink(node))
      || element("p", { className: "soft" }, "No node matches."));
  }

  source(node) {
    const { name, role, op, operations, types, kernels } = content.before.nodes[node];
    if (role !== "node") {
      this.show(element("h3", {}, name), element("p", { className: "soft" }, `${role} of the model, ${op}`));
      return;
    }
    this.show(
      element("h3", {}, name),
      this.facts([["operator", op], ["gives", types.join(", ") || null],
        ["imported as", operations.join(", ")]]),
      kernels.length
        ? this.list("Held by", kernels.map((kernel) => element("li", {},
          this.kernelLink(kernel), " ", kindMark(content.kernels[kernel].kind))))
        : element("p", { className: "soft" },
          "No kernel holds it: it is a view of what it reads, or passes made it a part of another"
          + " node or removed it."),
    );
  }

  kernel(index, nodes) {
    const kernel = content.kernels[index];
    const known = new Set(nodes.map((node) => content.before.nodes[node].name));
    this.show(
      element("h3", {}, `Kernel ${kernel.label} `, kindMark(kernel.kind)),
      element("div", { className: "soft" }, kernel.name),
      this.facts([
        ["runs", kernel.once ? "once, when the model is loaded" : "at every call"],
        ["bytes", bytes(kernel.bytes)],
        ["operations", flops(kernel.flops)],
        ["predicted", duration(kernel.predicted)],
        ["bound", kernel.bound || "not known"],
        ["measured", kernel.measured === null ? null : duration(kernel.measured)],
      ]),
      this.list("Schedules", kernel.schedules.map((text, number) => element("li", {},
        `${number + 1} ${text}`))),
      this.list("Nodes", [...nodes, ...kernel.nodes.filter((name) => !known.has(name))],
        (node) => (typeof node === "number" ? this.nodeLink(node) : element("li", {}, node))),
      this.boundaries("Reads across a boundary", "consumer", "producer", index),
      this.boundaries("Read across a boundary by", "producer", "consumer", index),
      this.list("Reads", kernel.reads.map(([home, type, producer]) => element("li", {},
        producer === null ? home : this.kernelLink(producer, home), `: ${type}`))),
      this.list("Writes", kernel.writes.map((text) => element("li", {}, text))),
      element("h4", {}, "MLIR"),
      element("pre", { tabIndex: 0 }, content.texts[kernel.name]),
    );
  }

  boundaries(title, own, other, index) {
    return this.list(title, content.boundaries.filter((b) => b[own] === index).map((boundary) => {
      const far = boundary[other];
      return element("li", { className: "boundary" },
        element("div", {}, far === null ? "a kernel" : this.kernelLink(far),
          ` ${bytes(boundary.bytes)}, ${duration(boundary.nanoseconds)}`),
        element("div", {}, content.reasons[boundary.reason]),
        element("div", { className: "soft" }, `${boundary.source} → ${boundary.target}`));
    }));
  }
}
