// SPDX-License-Identifier: MIT OR Apache-2.0
// Built from web/src by web/build.mjs; sources 50e063fe6684d4b25cc366e00dbcf304ffb24dd77eb5c88e7c58e651d1302033

// src/page/panels.ts
function element(tag, name = "", text = "", children = []) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element '${id}'`);
  return found;
}
function bytesText(nbytes) {
  if (nbytes < 1e3) return `${nbytes} B`;
  if (nbytes < 1e6) return `${(nbytes / 1e3).toFixed(1)} kB`;
  return `${(nbytes / 1e6).toFixed(1)} MB`;
}
function timeText(milliseconds) {
  if (milliseconds >= 1e3) return `${(milliseconds / 1e3).toFixed(2)} s`;
  return `${milliseconds.toFixed(milliseconds >= 10 ? 1 : 2)} ms`;
}
function showProgress(panel, progress) {
  panel.hidden = progress === void 0;
  if (!progress) return;
  const { loaded, bytes, compiled, pipelines } = progress;
  const weights = bar("Weights", bytes ? loaded / bytes : 1, `${bytesText(loaded)} of ${bytesText(bytes)}`);
  const code = bar("Kernels", pipelines ? compiled / pipelines : 1, `${compiled} of ${pipelines} compiled`);
  panel.replaceChildren(element("h2", "", "Loading the model"), weights, code);
}
function bar(label, part, text) {
  const meter = document.createElement("progress");
  meter.max = 1;
  meter.value = part;
  meter.setAttribute("aria-label", label);
  return element("div", "bar", "", [element("span", "", label), meter, element("span", "muted", text)]);
}
function showError(panel, error, again, label = "Try again") {
  panel.hidden = error === void 0;
  if (error === void 0) return;
  const { message, place, because, hint, code } = error;
  const title = message || String(error);
  const children = [element("h2", "", title.charAt(0).toUpperCase() + title.slice(1))];
  if (hint) children.push(element("p", "", `${hint.charAt(0).toUpperCase()}${hint.slice(1)}.`));
  const details = [["Where", place], ["Why", because], ["Code", code]].filter(([, text]) => text);
  if (details.length) {
    const rows = details.flatMap(([name, text]) => [element("dt", "", name), element("dd", "", text)]);
    children.push(element("dl", "", "", rows));
  }
  if (again) {
    const button = element("button", "", label);
    button.addEventListener("click", again);
    children.push(button);
  }
  panel.replaceChildren(...children);
  panel.scrollIntoView?.({ block: "nearest" });
}
function showTimeline(panel, profile) {
  panel.hidden = profile === void 0;
  if (!profile) return;
  const { steps, exact } = profile;
  const end = Math.max(...steps.map((each) => each.start + each.nanoseconds), 1);
  const rows = steps.map((each) => {
    const track = element("span", "track");
    const mark = element("span", `mark kind-${each.kind.replace(/[^\w-]/g, "")}`);
    mark.style.left = `min(100% - 2px, ${100 * each.start / end}%)`;
    mark.style.width = `max(2px, ${100 * each.nanoseconds / end}%)`;
    track.append(mark);
    const row = element("div", "step", "", [
      element("span", "kernel", each.kernel),
      track,
      element("span", "time", timeText(each.nanoseconds / 1e6))
    ]);
    row.title = `${each.kind}: ${each.nodes.join(", ")}`;
    return row;
  });
  const kinds = [...new Set(steps.map((each) => each.kind))].map((kind) => {
    const name = `kind-${kind.replace(/[^\w-]/g, "")}`;
    return element("span", "kind", "", [element("i", name), document.createTextNode(kind)]);
  });
  const busy = steps.reduce((sum, each) => sum + each.nanoseconds, 0);
  const how = exact ? "measured by the GPU; browsers round its clock" : "each kernel was waited for: the GPU has no clock that the browser shows";
  panel.replaceChildren(
    element("h2", "", "Timeline of kernels"),
    element("p", "muted", `${steps.length} kernel${steps.length === 1 ? "" : "s"}, ${timeText(busy / 1e6)} in all, ${how}`),
    element("p", "kinds", "", kinds),
    element("div", "steps", "", rows)
  );
}
async function keepPage() {
  if (!("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register("./offline.js");
    const { active } = await navigator.serviceWorker.ready;
    const here = new URL(".", location.href).href;
    const resources = performance.getEntriesByType("resource").map((each) => each.name);
    const pattern = /\.(js|css|html|json|svg|png)$/;
    const own = resources.filter((each) => each.startsWith(here) && pattern.test(each));
    const page = location.href.split(/[?#]/)[0];
    const keep = [.../* @__PURE__ */ new Set([page, ...own.filter((each) => !each.endsWith("/plan.json"))])];
    active?.postMessage({ keep });
  } catch {
  }
}
export {
  byId,
  bytesText,
  element,
  keepPage,
  showError,
  showProgress,
  showTimeline,
  timeText
};
