// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers as text, and elements whose text is never read as HTML.

function scaled(value, units, step) {
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= step;
    unit += 1;
  }
  return `${size === 0 ? "0" : parseFloat(size.toPrecision(3))} ${units[unit]}`;
}

function bytes(value) {
  return scaled(value, ["B", "kB", "MB", "GB", "TB"], 1000);
}

function flops(value) {
  return scaled(value, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"], 1000);
}

function duration(nanoseconds) {
  return nanoseconds === null ? "–" : scaled(nanoseconds, ["ns", "µs", "ms", "s"], 1000);
}

function clipEnd(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

// The end of a node's name says more than its beginning.
function clipStart(text, length) {
  return text.length <= length ? text : `…${text.slice(text.length - length + 1)}`;
}

function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("aria-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null) made.append(child);
  }
  return made;
}

function kindMark(kind) {
  const swatch = element("span", { className: "swatch" });
  const [light, line, dark] = kindColours(kind);
  swatch.style.background = isDark() ? dark : light;
  swatch.style.borderColor = line;
  return element("span", { className: "kind" }, swatch, kind);
}

function kindColours(kind) {
  return content.colours[kind] || ["#f2f2f2", "#9a9a9a", "#2a2d33"];
}

function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
