// SPDX-License-Identifier: MIT OR Apache-2.0
// One graph on a canvas: pan, zoom, an overview at the right, and what is highlighted.
// Positions come with the data; only rows in view are drawn.

const OVERVIEW = 64;
const MARGIN = 30;

class GraphView {
  constructor(canvas, graph, options) {
    this.canvas = canvas;
    this.graph = graph;
    this.options = options;
    this.context = canvas.getContext("2d");
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.selected = new Set();
    this.near = new Set();
    this.matches = null;
    this.hovered = -1;
    this.frame = 0;
    this.index();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
    this.home();
  }

  // Nodes and pieces of edges by row.
  index() {
    const { nodes, rows, reads, lanes, x, height } = this.graph;
    this.byRow = Array.from({ length: height }, () => []);
    this.pieces = Array.from({ length: height }, () => []);
    nodes.forEach((_, node) => this.byRow[rows[node]].push(node));
    for (const row of this.byRow) row.sort((a, b) => x[a] - x[b]);
    this.readers = nodes.map(() => []);
    for (const [source, lane] of Object.entries(lanes)) {
      let from = x[source];
      lane.forEach((to, step) => {
        const row = rows[source] + step;
        this.pieces[row].push({ row, source: +source, target: -1, from, to, open: step > 0 });
        from = to;
      });
    }
    reads.forEach((sources, target) => {
      for (const source of sources) {
        this.readers[source].push(target);
        const lane = lanes[source];
        const long = rows[target] > rows[source] + 1;
        const row = long && lane ? rows[target] - 1 : rows[source];
        const from = long && lane ? lane[row - rows[source] - 1] : x[source];
        const span = rows[target] - row;
        this.pieces[row].push({ row, source, target, from, to: x[target], open: long && !!lane, span,
          inside: this.options.isInside(source, target) });
      }
    });
  }

  get nodeHeight() { return this.options.nodeHeight; }
  get rowHeight() { return this.options.rowHeight; }
  worldY(row) { return row * this.rowHeight + this.nodeHeight / 2; }
  get worldHeight() { return this.graph.height * this.rowHeight; }
  get viewWidth() { return Math.max(this.width - OVERVIEW, 50); }

  resize() {
    const ratio = devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    if (width && this.width) this.left += (width - this.width) / 2;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.ratio = ratio;
    this.draw();
  }

  // The top of the graph at a scale at which names can be read.
  home() {
    const fit = this.viewWidth / (this.graph.width + 2 * MARGIN);
    this.scale = Math.min(1, Math.max(fit, 0.62));
    const first = this.byRow.slice(0, 8).flat();
    const middle = first.reduce((sum, node) => sum + this.graph.x[node], 0) / (first.length || 1);
    this.left = this.viewWidth / 2 - middle * this.scale;
    if (fit >= this.scale) this.left = (this.viewWidth - this.graph.width * this.scale) / 2;
    this.top = MARGIN + 12;
    this.redraw();
  }

  fit() {
    const scale = Math.min(
      this.viewWidth / (this.graph.width + 2 * MARGIN),
      this.height / (this.worldHeight + 2 * MARGIN), 1.5);
    this.moveTo(scale, (this.viewWidth - this.graph.width * scale) / 2,
      (this.height - this.worldHeight * scale) / 2);
  }

  zoom(factor, x = this.viewWidth / 2, y = this.height / 2) {
    const scale = Math.min(3, Math.max(0.004, this.scale * factor));
    this.left = x - (x - this.left) * (scale / this.scale);
    this.top = y - (y - this.top) * (scale / this.scale);
    this.scale = scale;
    this.redraw();
  }

  moveTo(scale, left, top) {
    const from = [this.scale, this.left, this.top];
    const start = performance.now();
    const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 180;
    this.flight = (this.flight || 0) + 1;
    const flight = this.flight;
    const step = (now) => {
      if (flight !== this.flight) return;
      const part = length ? Math.min(1, Math.max(0, (now - start) / length)) : 1;
      const eased = part * (2 - part);
      [this.scale, this.left, this.top] = [scale, left, top].map(
        (end, i) => from[i] + (end - from[i]) * eased);
      this.draw();
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // Bring nodes into view: all where they can still be read, else the first.
  show(nodes) {
    if (!nodes.length) return;
    const { x, rows, nodeWidth } = this.graph;
    const box = (list) => [
      Math.min(...list.map((n) => x[n])) - nodeWidth / 2 - MARGIN,
      Math.max(...list.map((n) => x[n])) + nodeWidth / 2 + MARGIN,
      Math.min(...list.map((n) => rows[n])) * this.rowHeight - 2 * MARGIN,
      Math.max(...list.map((n) => rows[n])) * this.rowHeight + this.nodeHeight + 2 * MARGIN,
    ];
    const scaleOf = ([a, b, c, d]) => Math.min(1, this.viewWidth / (b - a), this.height / (d - c));
    let frame = box(nodes.slice(0, 400));
    if (scaleOf(frame) < 0.45) frame = box([nodes[0]]);
    const scale = Math.min(scaleOf(frame), Math.max(this.scale, 0.62));
    this.moveTo(scale, this.viewWidth / 2 - ((frame[0] + frame[1]) / 2) * scale,
      this.height / 2 - ((frame[2] + frame[3]) / 2) * scale);
  }

  highlight(selected, near, matches) {
    this.selected = new Set(selected);
    this.near = new Set(near);
    this.matches = matches;
    // For a lane it matters how far down a selected reader is.
    this.reach = new Map();
    for (const target of this.selected) {
      for (const source of this.graph.reads[target]) {
        const row = this.graph.rows[target];
        this.reach.set(source, Math.max(this.reach.get(source) || 0, row));
      }
    }
    this.redraw();
  }

  isFaded(node) {
    if (this.selected.size) return !this.selected.has(node) && !this.near.has(node);
    return this.matches !== null && !this.matches.has(node);
  }

  isLit(piece) {
    if (!this.selected.size) return false;
    if (this.selected.has(piece.source)) return true;
    if (piece.target >= 0) return this.selected.has(piece.target);
    return (this.reach.get(piece.source) || 0) > piece.row;
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { context: c } = this;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.theme = {
      dark: isDark(), text: colour("--text"), soft: colour("--soft"), edge: colour("--edge"),
      accent: colour("--accent"), match: colour("--match"), ground: colour("--ground"),
      line: colour("--line"), panel: colour("--panel"),
    };
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.save();
    c.beginPath();
    c.rect(0, 0, this.viewWidth, this.height);
    c.clip();
    const first = Math.max(0, Math.floor(-this.top / this.scale / this.rowHeight) - 1);
    const last = Math.min(this.graph.height - 1,
      Math.ceil((this.height - this.top) / this.scale / this.rowHeight));
    this.drawEdges(first, last);
    for (let row = first; row <= last; row += 1) {
      for (const node of this.byRow[row]) this.drawNode(node);
    }
    c.restore();
    this.drawOverview();
  }

  // Plain edges first, then those inside a kernel, then those of what is selected.
  drawEdges(first, last) {
    const { scale, theme } = this;
    const plain = [];
    const inside = [];
    const lit = [];
    for (let row = Math.max(0, first - 1); row <= last; row += 1) {
      for (const piece of this.pieces[row]) {
        (this.isLit(piece) ? lit : piece.inside ? inside : plain).push(piece);
      }
    }
    const alpha = this.selected.size || this.matches ? 0.3 : 1;
    this.stroke(plain, theme.edge, Math.max(0.5, Math.min(1.4, 1.2 * scale)), alpha);
    this.stroke(inside, theme.soft, Math.max(0.8, 3.2 * scale), alpha);
    this.stroke(lit, theme.accent, Math.max(1, 2 * scale), 1);
  }

  stroke(pieces, colour, width, alpha) {
    const { context: c } = this;
    c.globalAlpha = alpha;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.beginPath();
    for (const piece of pieces) this.trace(piece);
    c.stroke();
    c.globalAlpha = 1;
  }

  trace(piece) {
    const { context: c, scale, left, top } = this;
    const half = (this.nodeHeight / 2) * scale;
    const y = top + this.worldY(piece.row) * scale;
    const x1 = left + piece.from * scale;
    const x2 = left + piece.to * scale;
    const y1 = y + half;
    const y2 = y + this.rowHeight * (piece.span || 1) * scale - half;
    c.moveTo(x1, piece.open ? y - half : y1);
    if (piece.open) c.lineTo(x1, y1);
    const bend = (y2 - y1) / 2;
    c.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
    if (piece.target < 0) c.lineTo(x2, y2 + 0.01);
  }

  drawNode(node) {
    const { context: c, scale, theme } = this;
    const width = this.graph.nodeWidth * scale;
    const height = this.nodeHeight * scale;
    const x = this.left + this.graph.x[node] * scale - width / 2;
    const y = this.top + this.graph.rows[node] * this.rowHeight * scale;
    if (x > this.viewWidth || x + width < 0) return;
    const look = this.options.look(node);
    const [light, line, dark] = look.colours;
    const isMatch = this.matches !== null && this.matches.has(node);
    const isSelected = this.selected.has(node);
    c.globalAlpha = this.isFaded(node) ? 0.25 : 1;
    c.fillStyle = look.plain ? theme.ground : theme.dark ? dark : light;
    c.strokeStyle = isSelected ? theme.accent : isMatch ? theme.match : line;
    c.lineWidth = (isSelected || isMatch ? 3 : node === this.hovered ? 2 : 1) * Math.min(1, Math.max(scale, 0.4));
    c.setLineDash(look.dashed ? [4 * scale, 3 * scale] : []);
    c.beginPath();
    if (scale < 0.25) c.rect(x, y, width, height);
    else c.roundRect(x, y, width, height, (look.plain ? 14 : 5) * scale);
    c.fill();
    c.stroke();
    c.setLineDash([]);
    if (look.share > 0 && scale > 0.2) {
      c.fillStyle = line;
      c.fillRect(x + 3 * scale, y + height - 5 * scale, (width - 6 * scale) * look.share, 3 * scale);
    }
    if (11 * scale >= 5) this.drawText(look, x, y, width, scale);
    c.globalAlpha = 1;
  }

  drawText(look, x, y, width, scale) {
    const { context: c, theme } = this;
    const font = `px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
    const inside = width - 14 * scale;
    c.textBaseline = "alphabetic";
    c.fillStyle = theme.text;
    c.font = `600 ${12.5 * scale}${font}`;
    const aside = look.aside || "";
    c.fillText(look.title, x + 7 * scale, y + 15 * scale, aside ? inside * 0.66 : inside);
    c.fillStyle = theme.soft;
    c.font = `${10.5 * scale}${font}`;
    if (aside) {
      c.textAlign = "right";
      c.fillText(aside, x + width - 7 * scale, y + 15 * scale, inside * 0.34);
      c.textAlign = "left";
    }
    if (look.text) c.fillText(look.text, x + 7 * scale, y + 29 * scale, inside);
  }

  // The whole graph in a strip, with what is selected or found, and what is in view.
  drawOverview() {
    const { context: c, theme, graph } = this;
    const x0 = this.width - OVERVIEW;
    const sy = this.height / Math.max(this.worldHeight, 1);
    const sx = (OVERVIEW - 10) / Math.max(graph.width, 1);
    this.overviewScale = sy;
    c.fillStyle = theme.panel;
    c.fillRect(x0, 0, OVERVIEW, this.height);
    const tall = Math.max(1, this.nodeHeight * sy);
    const wide = Math.max(2, graph.nodeWidth * sx);
    const paint = (node, fill, height) => {
      c.fillStyle = fill;
      c.fillRect(x0 + 5 + graph.x[node] * sx - wide / 2, graph.rows[node] * this.rowHeight * sy, wide, height);
    };
    const hasFocus = this.selected.size || this.matches;
    c.globalAlpha = hasFocus ? 0.3 : 1;
    graph.nodes.forEach((_, node) => paint(node, this.options.look(node).colours[1], tall));
    c.globalAlpha = 1;
    for (const node of this.matches || []) paint(node, theme.match, Math.max(tall, 2));
    for (const node of this.selected) paint(node, theme.accent, Math.max(tall, 3));
    const y = (-this.top / this.scale) * sy;
    const height = Math.max((this.height / this.scale) * sy, 4);
    c.strokeStyle = theme.text;
    c.lineWidth = 1.5;
    c.strokeRect(x0 + 1, y, OVERVIEW - 2, height);
    c.strokeStyle = theme.line;
    c.lineWidth = 1;
    c.strokeRect(x0 - 0.5, -1, 1, this.height + 2);
  }

  nodeAt(x, y) {
    if (x > this.viewWidth) return -1;
    const worldX = (x - this.left) / this.scale;
    const worldY = (y - this.top) / this.scale;
    const row = Math.floor(worldY / this.rowHeight);
    if (row < 0 || row >= this.graph.height || worldY - row * this.rowHeight > this.nodeHeight) return -1;
    const half = this.graph.nodeWidth / 2;
    const found = this.byRow[row].find((node) => Math.abs(this.graph.x[node] - worldX) <= half);
    return found === undefined ? -1 : found;
  }

  // Where a node is on the page; scripts that test the page click there.
  placeOf(node) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: box.left + this.left + this.graph.x[node] * this.scale,
      y: box.top + this.top + this.worldY(this.graph.rows[node]) * this.scale,
    };
  }

  jump(y) {
    this.flight = (this.flight || 0) + 1;
    this.top = this.height / 2 - (y / this.overviewScale) * this.scale;
    this.redraw();
  }

  listen() {
    const { canvas } = this;
    let grabbed = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      grabbed = { x: event.offsetX, y: event.offsetY, moved: false, overview: event.offsetX > this.viewWidth };
      if (grabbed.overview) this.jump(event.offsetY);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!grabbed) return this.hover(event);
      const dx = event.offsetX - grabbed.x;
      const dy = event.offsetY - grabbed.y;
      if (grabbed.overview) return this.jump(event.offsetY);
      if (!grabbed.moved && Math.hypot(dx, dy) < 4) return undefined;
      this.flight = (this.flight || 0) + 1;
      Object.assign(grabbed, { x: event.offsetX, y: event.offsetY, moved: true });
      canvas.classList.add("moving");
      this.left += dx;
      this.top += dy;
      return this.redraw();
    });
    canvas.addEventListener("pointerup", (event) => {
      canvas.classList.remove("moving");
      if (grabbed && !grabbed.moved && !grabbed.overview) {
        this.options.pick(this.nodeAt(event.offsetX, event.offsetY));
      }
      grabbed = null;
    });
    canvas.addEventListener("pointercancel", () => { grabbed = null; });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(1.6, event.offsetX, event.offsetY));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  hover(event) {
    const node = this.nodeAt(event.offsetX, event.offsetY);
    if (node === this.hovered) return;
    this.hovered = node;
    this.canvas.classList.toggle("over", node >= 0);
    this.canvas.title = node < 0 ? "" : this.options.hint(node);
    this.redraw();
  }

  wheel(event) {
    event.preventDefault();
    this.flight = (this.flight || 0) + 1;
    const step = event.deltaMode === 1 ? 18 : 1;
    if (event.ctrlKey || event.metaKey) {
      this.zoom(Math.exp(-event.deltaY * step * 0.006), event.offsetX, event.offsetY);
      return;
    }
    this.left -= (event.shiftKey ? event.deltaY : event.deltaX) * step;
    this.top -= (event.shiftKey ? 0 : event.deltaY) * step;
    this.redraw();
  }

  key(event) {
    const moves = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0],
      PageUp: [0, this.height * 0.8], PageDown: [0, -this.height * 0.8] };
    if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "Home") this.home();
    else if (moves[event.key]) {
      this.left += moves[event.key][0];
      this.top += moves[event.key][1];
      this.redraw();
    } else return;
    event.preventDefault();
  }
}
