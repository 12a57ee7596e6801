// SPDX-License-Identifier: MIT OR Apache-2.0
// Built from web/src by web/build.mjs; sources 50e063fe6684d4b25cc366e00dbcf304ffb24dd77eb5c88e7c58e651d1302033

// src/page/main.ts
import { Xyntra } from "./xyntra.js";

// src/page/npy.ts
var KINDS = {
  "|b1": Uint8Array,
  "|u1": Uint8Array,
  "|i1": Int8Array,
  "<i2": Int16Array,
  "<u2": Uint16Array,
  "<f2": Uint16Array,
  "<i4": Int32Array,
  "<u4": Uint32Array,
  "<i8": BigInt64Array,
  "<u8": BigUint64Array,
  "<f4": Float32Array,
  "<f8": Float64Array
};
var NAMES = {
  bool: "|b1",
  uint8: "|u1",
  int8: "|i1",
  int16: "<i2",
  uint16: "<u2",
  float16: "<f2",
  bfloat16: "<u2",
  int32: "<i4",
  uint32: "<u4",
  int64: "<i8",
  uint64: "<u8",
  float32: "<f4"
};
function readNpy(file) {
  const bytes = new Uint8Array(file);
  if (bytes.length < 12 || String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY") {
    throw new Error("this is no .npy file");
  }
  const view = new DataView(file);
  const wide = bytes[6] > 1;
  const start = (wide ? 12 : 10) + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = new TextDecoder().decode(bytes.subarray(wide ? 12 : 10, start));
  const kind = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? "";
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  if (!KINDS[kind] || shape === void 0) throw new Error(`its type '${kind}' cannot be read`);
  if (/'fortran_order':\s*True/.test(header)) throw new Error("it is in Fortran's order");
  const sizes = shape.split(",").filter((each) => each.trim()).map(Number);
  const data = new KINDS[kind](file.slice(start));
  if (data.length !== sizes.reduce((product, each) => product * each, 1)) {
    throw new Error("the file is cut off");
  }
  return { shape: sizes, data };
}
function writeNpy(tensor) {
  const shape = `(${tensor.shape.join(", ")}${tensor.shape.length === 1 ? "," : ""})`;
  const text = `{'descr': '${NAMES[tensor.dtype]}', 'fortran_order': False, 'shape': ${shape}, }`;
  const padded = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + "\n";
  const head = new Uint8Array([147, 78, 85, 77, 80, 89, 1, 0, padded.length & 255, padded.length >> 8]);
  return new Blob([head, padded, tensor.data]);
}

// src/page/inputs.ts
import { byId, element } from "./panels.js";
var InputRow = class {
  constructor(port) {
    this.port = port;
    for (const text of ["random numbers", "zeros", "a .npy file"]) this.choice.add(new Option(text));
    this.choice.setAttribute("aria-label", `Contents of ${port.name}`);
    this.file.type = "file";
    this.file.accept = ".npy";
    this.file.hidden = true;
    this.file.setAttribute("aria-label", `File for ${port.name}`);
    this.choice.addEventListener("change", () => {
      this.file.hidden = this.choice.selectedIndex !== 2;
    });
    this.row = element("tr", "", "", [
      element("td", "name", port.name),
      element("td", "muted", `${port.dtype} [${port.shape.join(", ")}]`),
      element("td", "", "", [this.choice, this.file])
    ]);
  }
  port;
  choice = document.createElement("select");
  file = document.createElement("input");
  row;
  /** Return the array; an Error says what is wrong with the file. */
  async array() {
    if (this.choice.selectedIndex < 2) return drawn(this.port, this.choice.selectedIndex === 0);
    const file = this.file.files?.[0];
    if (!file) throw new Error(`choose a file for '${this.port.name}'`);
    try {
      return readNpy(await file.arrayBuffer());
    } catch (error) {
      throw new Error(`'${file.name}' for '${this.port.name}': ${error.message}`);
    }
  }
};
function drawn(port, random) {
  const count = port.shape.reduce((product, size) => product * size, 1);
  const floats = port.dtype.includes("float");
  const values = new Array(count).fill(0);
  if (random) {
    for (let index = 0; index < count; index++) {
      values[index] = floats ? 2 * Math.random() - 1 : Number(Math.random() < 0.5);
    }
  }
  return port.dtype === "float32" ? new Float32Array(values) : values;
}
function showInputs(ports) {
  const rows2 = ports.map((port) => new InputRow(port));
  byId("inputs").replaceChildren(...rows2.map((each) => each.row));
  return rows2;
}
function summary(data) {
  if (!data.length) return "empty";
  let [least, most, sum, bad] = [Infinity, -Infinity, 0, 0];
  for (const each of data) {
    const value = Number(each);
    if (Number.isNaN(value)) bad += 1;
    else {
      least = Math.min(least, value);
      most = Math.max(most, value);
      sum += value;
    }
  }
  const mean = sum / Math.max(data.length - bad, 1);
  const text = [least, most, mean].map((each) => Number(each.toPrecision(6)));
  const none = bad ? `, ${bad} of ${data.length} are NaN` : "";
  return bad === data.length ? "all NaN" : `min ${text[0]}, max ${text[1]}, mean ${text[2]}${none}`;
}

// src/page/main.ts
import { byId as byId2, element as element2, keepPage, showError, showProgress, showTimeline, timeText } from "./panels.js";
var model;
var rows = [];
async function load() {
  showError(byId2("notice"));
  byId2("model").hidden = true;
  try {
    model = await Xyntra.load("./", {
      onProgress: (progress) => showProgress(byId2("loading"), progress)
    });
  } catch (error) {
    showError(byId2("notice"), error, load);
    return;
  } finally {
    showProgress(byId2("loading"));
  }
  rows = showInputs(model.inputs);
  const count = model.kernels.length;
  byId2("about").textContent = `${count} kernel${count === 1 ? "" : "s"}, on ${model.adapter}`;
  byId2("model").hidden = false;
  document.body.dataset.state = "ready";
  await keepPage();
}
async function run() {
  if (!model) return;
  const button = byId2("run");
  const timed = byId2("timed").checked;
  button.disabled = true;
  button.textContent = "Running …";
  document.body.dataset.state = "running";
  showError(byId2("notice"));
  try {
    const arrays = await Promise.all(rows.map((each) => each.array()));
    const inputs = Object.fromEntries(rows.map((each, index) => [each.port.name, arrays[index]]));
    const start = performance.now();
    const profile = timed ? await model.profile(inputs) : void 0;
    const outputs = profile ? profile.outputs : await model.run(inputs);
    showOutputs(outputs, performance.now() - start);
    showTimeline(byId2("timeline"), profile);
    document.body.dataset.state = "done";
  } catch (error) {
    document.body.dataset.state = "failed";
    const lost = error.code?.startsWith("webgpu-");
    showError(byId2("notice"), error, lost ? load : run, lost ? "Load the model again" : "Run again");
  } finally {
    button.disabled = false;
    button.textContent = "Run";
  }
}
function showOutputs(outputs, milliseconds) {
  byId2("took").textContent = `in ${timeText(milliseconds)}`;
  const found = Object.entries(outputs).map(([name, tensor]) => {
    const save = element2("button", "quiet", "Save .npy");
    save.addEventListener("click", () => download(`${name.replace(/[^\w.-]/g, "_")}.npy`, tensor));
    const floats = tensor.dtype !== "float16" && tensor.dtype !== "bfloat16";
    return element2("tr", "", "", [
      element2("td", "name", name),
      element2("td", "muted", `${tensor.dtype} [${tensor.shape.join(", ")}]`),
      element2("td", "", floats ? summary(tensor.data) : `${tensor.data.length} numbers`),
      element2("td", "", "", [save])
    ]);
  });
  byId2("outputs").replaceChildren(...found);
  byId2("results").hidden = false;
}
function download(name, tensor) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(writeNpy(tensor));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
}
byId2("run").addEventListener("click", () => void run());
void load();
