// SPDX-License-Identifier: MIT OR Apache-2.0
/** Says what type a file is, in this browser. */

import { features, fewBytes, labelOf, likeliest } from "./features.js";
import { byId, element, keepPage, showError, showProgress, showTimeline, timeText } from "./panels.js";
import { Xyntra } from "./xyntra.js";

const SHOWN = 5;
let model;
let types;

/** Load the model; what fails is shown with a button that tries again. */
async function load() {
  showError(byId("notice"));
  byId("model").hidden = true;
  delete document.body.dataset.state;
  try {
    const onProgress = (progress) => showProgress(byId("loading"), progress);
    [types, model] = await Promise.all([labels(), Xyntra.load("./", { onProgress })]);
  } catch (error) {
    showError(byId("notice"), error, load);
    return;
  } finally {
    showProgress(byId("loading"));
  }
  byId("about").textContent = `${model.kernels.length} kernels, on ${model.adapter}`;
  byId("model").hidden = false;
  document.body.dataset.state = "ready";
  await keepPage();
}

async function labels() {
  const response = await fetch("types.json");
  if (!response.ok) throw new Error("types.json, the names of file types, is not on the server");
  return response.json();
}

/** Say what a file is. */
async function identify(file) {
  if (!model) return;
  document.body.dataset.state = "running";
  byId("drop").classList.remove("over");
  byId("drop-text").textContent = `Looking at ${file.name} …`;
  showError(byId("notice"));
  try {
    const bytes = await features(file, types.least);
    const start = performance.now();
    const timed = byId("timed").checked && bytes;
    const profile = timed ? await model.profile({ bytes }) : undefined;
    const outputs = profile?.outputs ?? (bytes && await model.run({ bytes }));
    const scores = outputs?.[model.outputs[0].name].data;
    const label = scores ? labelOf(scores, types) : await fewBytes(file);
    showAnswer(file, label, scores, performance.now() - start);
    showTimeline(byId("timeline"), profile);
    document.body.dataset.state = "done";
  } catch (error) {
    document.body.dataset.state = "failed";
    const lost = error.code?.startsWith("webgpu-");
    if (lost) showError(byId("notice"), error, load, "Load the model again");
    else showError(byId("notice"), error);
  } finally {
    byId("drop-text").textContent = "Drop another file here, or choose one";
  }
}

function showAnswer(file, label, scores, milliseconds) {
  const { description, mime, group } = types.meanings[label];
  byId("answer").textContent = description;
  byId("answer").dataset.label = label;
  const facts = [mime, group, `${file.size.toLocaleString("en")} bytes`].filter(Boolean).join(" · ");
  byId("facts").textContent = `${file.name}: ${facts}`;
  const rows = scores
    ? likeliest(scores, types, SHOWN).map(({ label: each, score }) => {
      const meter = document.createElement("meter");
      meter.value = score;
      meter.setAttribute("aria-label", each);
      const percent = `${(100 * score).toFixed(1)} %`;
      return element("div", "score", "", [element("span", "", each), meter, element("span", "muted", percent)]);
    })
    : [element("p", "muted", "The file is too short for the model: it was told from its bytes.")];
  byId("scores").replaceChildren(...rows);
  byId("took").textContent = scores ? `· told in ${timeText(milliseconds)}` : "";
  byId("result").hidden = false;
}

const drop = byId("drop");
drop.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) void identify(file);
});
byId("file").addEventListener("change", ({ target }) => {
  const [file] = target.files;
  if (file) void identify(file);
  target.value = ""; // so that the same file may be chosen again
});
void load();
