// SPDX-License-Identifier: MIT OR Apache-2.0
/** The page of an exported model: loads it, runs it, and shows results and times. */

import { type Model, type Tensor, Xyntra } from "../index.ts";
import { InputRow, showInputs, summary } from "./inputs.ts";
import { writeNpy } from "./npy.ts";
import { byId, element, keepPage, showError, showProgress, showTimeline, timeText } from "./panels.ts";

let model: Model | undefined;
let rows: InputRow[] = [];

/** Load the model; what fails is shown with a button that tries again. */
async function load(): Promise<void> {
  showError(byId("notice"));
  byId("model").hidden = true;
  try {
    model = await Xyntra.load("./", {
      onProgress: (progress) => showProgress(byId("loading"), progress),
    });
  } catch (error) {
    showError(byId("notice"), error, load);
    return;
  } finally {
    showProgress(byId("loading"));
  }
  rows = showInputs(model.inputs);
  const count = model.kernels.length;
  byId("about").textContent = `${count} kernel${count === 1 ? "" : "s"}, on ${model.adapter}`;
  byId("model").hidden = false;
  document.body.dataset.state = "ready";
  await keepPage();
}

/** Run the model once, with a timeline where that is wanted. */
async function run(): Promise<void> {
  if (!model) return;
  const button = byId<HTMLButtonElement>("run");
  const timed = byId<HTMLInputElement>("timed").checked;
  button.disabled = true;
  button.textContent = "Running …";
  document.body.dataset.state = "running";
  showError(byId("notice"));
  try {
    const arrays = await Promise.all(rows.map((each) => each.array()));
    const inputs = Object.fromEntries(rows.map((each, index) => [each.port.name, arrays[index]!]));
    const start = performance.now();
    const profile = timed ? await model.profile(inputs) : undefined;
    const outputs = profile ? profile.outputs : await model.run(inputs);
    showOutputs(outputs, performance.now() - start);
    showTimeline(byId("timeline"), profile);
    document.body.dataset.state = "done";
  } catch (error) {
    document.body.dataset.state = "failed";
    const lost = (error as { code?: string }).code?.startsWith("webgpu-");
    showError(byId("notice"), error, lost ? load : run, lost ? "Load the model again" : "Run again");
  } finally {
    button.disabled = false;
    button.textContent = "Run";
  }
}

function showOutputs(outputs: Record<string, Tensor>, milliseconds: number): void {
  byId("took").textContent = `in ${timeText(milliseconds)}`;
  const found = Object.entries(outputs).map(([name, tensor]) => {
    const save = element("button", "quiet", "Save .npy");
    save.addEventListener("click", () => download(`${name.replace(/[^\w.-]/g, "_")}.npy`, tensor));
    const floats = tensor.dtype !== "float16" && tensor.dtype !== "bfloat16";
    return element("tr", "", "", [
      element("td", "name", name),
      element("td", "muted", `${tensor.dtype} [${tensor.shape.join(", ")}]`),
      element("td", "", floats ? summary(tensor.data) : `${tensor.data.length} numbers`),
      element("td", "", "", [save]),
    ]);
  });
  byId("outputs").replaceChildren(...found);
  byId("results").hidden = false;
}

function download(name: string, tensor: Tensor): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(writeNpy(tensor));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

byId("run").addEventListener("click", () => void run());
void load();
