// SPDX-License-Identifier: MIT OR Apache-2.0
// Tables of kernels and boundaries that sort by any column.

const MAX_ROWS = 600;

class Tables {
  constructor(root, select) {
    this.tabs = root.querySelector("#tabs");
    this.head = root.querySelector("thead");
    this.body = root.querySelector("tbody");
    this.scroll = root.querySelector("#scroll");
    this.select = select;
    this.filter = null;
    this.sheets = this.makeSheets();
    this.tabs.append(...this.sheets.map((sheet, i) => element("button", {
      role: "tab", onclick: () => this.open(i), "aria-selected": "false" }, sheet.title)));
    this.open(0);
  }

  makeSheets() {
    const { kernels, boundaries, prefix } = content;
    const every = kernels.map((_, i) => i);
    const cost = kernels.map(() => 0);
    for (const b of boundaries) cost[b.consumer] += b.nanoseconds;
    const text = (names) => names.map((name) => name.slice(prefix.length)).join(", ");
    const has = (list, field) => list.some((i) => kernels[i][field] !== null);
    const columns = (list) => [
      { title: "#", value: (i) => i, show: (i) => kernels[i].label },
      { title: "Kind", value: (i) => kernels[i].kind, show: (i) => kindMark(kernels[i].kind) },
      { title: "Nodes", value: (i) => kernels[i].nodes.length, number: true },
      { title: "Bytes", value: (i) => kernels[i].bytes, show: (i) => bytes(kernels[i].bytes), number: true },
      { title: "Operations", value: (i) => kernels[i].flops, show: (i) => flops(kernels[i].flops), number: true },
      has(list, "predicted") && { title: "Predicted", value: (i) => kernels[i].predicted ?? -1, show: (i) => duration(kernels[i].predicted), number: true },
      has(list, "bound") && { title: "Bound", value: (i) => kernels[i].bound || "", show: (i) => kernels[i].bound || "–" },
      has(list, "measured") && { title: "Measured", value: (i) => kernels[i].measured ?? -1, show: (i) => duration(kernels[i].measured), number: true },
      boundaries.length > 0 && { title: "Boundaries", value: (i) => cost[i], show: (i) => duration(cost[i]), number: true },
      { title: "Holds", value: (i) => text(kernels[i].nodes) },
      { title: "Kernel", value: (i) => kernels[i].name },
    ].filter(Boolean);
    const kernelSheet = (title, rows) => ({
      title: `${title} (${rows.length})`, rows, columns: columns(rows), order: 0, down: false,
      kernelOf: (i) => i,
    });
    const sheets = [kernelSheet("Kernels of a call", every.filter((i) => !kernels[i].once))];
    if (boundaries.length) sheets.push(this.boundarySheet(boundaries, kernels));
    const atLoad = every.filter((i) => kernels[i].once);
    if (atLoad.length) sheets.push(kernelSheet("Kernels at load", atLoad));
    return sheets;
  }

  boundarySheet(boundaries, kernels) {
    const side = (i) => (i === null ? "–" : `#${kernels[i].label} ${kernels[i].kind}`);
    const columns = [
      { title: "From", value: (i) => boundaries[i].producer ?? -1, show: (i) => side(boundaries[i].producer) },
      { title: "To", value: (i) => boundaries[i].consumer, show: (i) => side(boundaries[i].consumer) },
      { title: "Bytes", value: (i) => boundaries[i].bytes, show: (i) => bytes(boundaries[i].bytes), number: true },
      { title: "Predicted", value: (i) => boundaries[i].nanoseconds, show: (i) => duration(boundaries[i].nanoseconds), number: true },
      { title: "Why", value: (i) => content.reasons[boundaries[i].reason] },
      { title: "Nodes", value: (i) => `${boundaries[i].source} → ${boundaries[i].target}` },
    ];
    const rows = boundaries.map((_, i) => i);
    return { title: `Boundaries (${rows.length})`, rows, columns, order: 3, down: true,
      kernelOf: (i) => boundaries[i].consumer };
  }

  open(index) {
    this.sheet = this.sheets[index];
    [...this.tabs.children].forEach((tab, i) => tab.setAttribute("aria-selected", String(i === index)));
    this.scroll.scrollTop = 0;
    this.render();
  }

  sort(column) {
    const { sheet } = this;
    sheet.down = sheet.order === column ? !sheet.down : !!sheet.columns[column].number;
    sheet.order = column;
    this.render();
  }

  show(filter) {
    this.filter = filter;
    this.render();
  }

  render() {
    const { columns, order, down, kernelOf } = this.sheet;
    const { value } = columns[order];
    const compare = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
    const rows = this.sheet.rows.filter((i) => this.filter === null || this.filter.has(kernelOf(i)))
      .sort((a, b) => (down ? compare(b, a) : compare(a, b)) || a - b);
    this.head.replaceChildren(element("tr", {}, columns.map((column, i) => element("th", {
      className: column.number ? "number" : "",
      "aria-sort": i !== order ? "none" : down ? "descending" : "ascending",
    }, element("button", { onclick: () => this.sort(i) },
      column.title + (i !== order ? "" : down ? " ↓" : " ↑"))))));
    this.body.replaceChildren(...rows.slice(0, MAX_ROWS).map((i) => this.row(i, columns, kernelOf(i))));
    if (rows.length > MAX_ROWS) {
      this.body.append(element("tr", {}, element("td", { colSpan: columns.length, className: "soft" },
        `${rows.length - MAX_ROWS} more: search or sort to see them`)));
    }
    this.mark(this.marked);
  }

  row(i, columns, kernel) {
    const cells = columns.map((column) => element("td", { className: column.number ? "number" : "" },
      column.show ? column.show(i) : clipEnd(String(column.value(i)), 160)));
    const row = element("tr", { tabIndex: 0, onclick: () => this.select.kernel(kernel) }, cells);
    row.dataset.kernel = kernel;
    row.onkeydown = (event) => { if (event.key === "Enter") this.select.kernel(kernel); };
    return row;
  }

  // Mark the rows of the selected kernels and bring the first into view.
  mark(kernels) {
    this.marked = kernels || [];
    const wanted = new Set(this.marked.map(String));
    let first = null;
    for (const row of this.body.children) {
      const isMarked = wanted.has(row.dataset.kernel);
      row.classList.toggle("selected", isMarked);
      if (isMarked && !first) first = row;
    }
    if (first) first.scrollIntoView({ block: "nearest" });
  }
}
