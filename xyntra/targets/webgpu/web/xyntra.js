// SPDX-License-Identifier: MIT OR Apache-2.0
// Built from web/src by web/build.mjs; sources 50e063fe6684d4b25cc366e00dbcf304ffb24dd77eb5c88e7c58e651d1302033

// src/errors.ts
var XyntraError = class extends Error {
  /** A stable identifier that programs may compare with. */
  code;
  place;
  because;
  hint;
  constructor(code, message, details = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.place = details.place ?? "";
    this.because = details.because ?? "";
    this.hint = details.hint ?? "";
  }
  /** The error as a few lines of text. */
  toString() {
    const lines = [`${this.name} [${this.code}]: ${this.message}`];
    if (this.place) lines.push(`  at: ${this.place}`);
    if (this.because) lines.push(`  because: ${this.because}`);
    if (this.hint) lines.push(`  try: ${this.hint}`);
    return lines.join("\n");
  }
};
var UnsupportedError = class extends XyntraError {
};
var LoadError = class extends XyntraError {
};
var InputError = class extends XyntraError {
};
var DeviceError = class extends XyntraError {
};
function textOf(thrown) {
  return thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
}
async function within(work, milliseconds, late) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

// src/device.ts
var PATIENCE = 3e4;
var BROWSERS = "use a current Chrome, Edge, Safari or Firefox";
function checkPage() {
  const { location, isSecureContext, navigator: navigator2 } = globalThis;
  if (location?.protocol === "file:") {
    throw new UnsupportedError("page-from-file", "this page was opened as a file", {
      because: "browsers do not let such a page fetch the model that lies beside it",
      hint: "serve the folder and open the address that is printed: python -m http.server"
    });
  }
  if (isSecureContext === false) {
    throw new UnsupportedError("page-insecure", "this page was not loaded safely", {
      because: "browsers have WebGPU on https:// and on localhost only",
      hint: "open it by https://, or by http://localhost on the machine of the server"
    });
  }
  if (!navigator2?.gpu) {
    throw new UnsupportedError("webgpu-missing", "this browser has no WebGPU", {
      because: "there is no navigator.gpu here",
      hint: `${BROWSERS}; on Linux, WebGPU may have to be turned on in its settings`
    });
  }
}
async function openDevice(plan, power) {
  const adapter = await requestAdapter(power);
  checkAdapter(adapter, plan);
  const hasTimes = adapter.features.has("timestamp-query");
  const features = [...plan.features, ...hasTimes ? ["timestamp-query"] : []];
  const largest = plan.buffers.reduce((most2, each) => Math.max(most2, each.nbytes), 0);
  const launches = plan.steps.flatMap((step) => step.launches);
  const bound = launches.flatMap((each) => each.ranges.map(([, nbytes]) => nbytes));
  const most = bound.reduce((largest2, each) => Math.max(largest2, each), 0);
  const { limits } = adapter;
  const requiredLimits = {
    maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
    maxStorageBuffersPerShaderStage: Math.max(plan.bindings, 8),
    maxComputeInvocationsPerWorkgroup: Math.max(plan.threads, 256),
    maxComputeWorkgroupSizeX: Math.max(plan.threads, 256),
    maxStorageBufferBindingSize: Math.max(most, 128 << 20),
    maxBufferSize: Math.max(largest, 256 << 20)
  };
  for (const [name, wanted] of Object.entries(requiredLimits)) {
    const offered = limits[name];
    requiredLimits[name] = Math.min(wanted, offered);
  }
  const requiredFeatures = features;
  let device;
  try {
    const request = adapter.requestDevice({ requiredFeatures, requiredLimits });
    device = await within(request, PATIENCE, () => unanswered("open the GPU"));
  } catch (error) {
    if (error instanceof XyntraError) throw error;
    throw new DeviceError("webgpu-device", "the GPU cannot be opened", {
      because: textOf(error),
      hint: "close other pages that use the GPU, or restart the browser"
    });
  }
  return { device, name: nameOf(adapter), hasTimes, lost: lossOf(device) };
}
async function requestAdapter(power) {
  let adapter;
  let because = "the browser offers no adapter";
  try {
    const request = navigator.gpu.requestAdapter(power ? { powerPreference: power } : {});
    adapter = await within(request, PATIENCE, () => unanswered("offer a GPU"));
  } catch (error) {
    if (error instanceof XyntraError) throw error;
    because = textOf(error);
    adapter = null;
  }
  if (adapter) return adapter;
  throw new DeviceError("webgpu-adapter", "there is no GPU that WebGPU could use", {
    because,
    hint: "turn on hardware acceleration in the browser's settings, and update the GPU's driver"
  });
}
function unanswered(what) {
  return new DeviceError("webgpu-device", `the browser did not ${what}`, {
    because: `nothing happened for ${PATIENCE / 1e3} seconds`,
    hint: "restart the browser"
  });
}
function checkAdapter(adapter, plan) {
  const name = nameOf(adapter);
  const other = `the limit is that of ${name}: use a device with another GPU`;
  const missing2 = plan.features.filter((each) => !adapter.features.has(each));
  if (missing2.length) {
    throw new UnsupportedError("webgpu-feature", `the GPU has no ${missing2.join(", ")}`, {
      because: "the model's kernels were compiled to use it",
      hint: "compile the model for every adapter, or use a device with another GPU"
    });
  }
  const { limits } = adapter;
  if (plan.bindings > limits.maxStorageBuffersPerShaderStage) {
    throw new UnsupportedError("webgpu-bindings", `a kernel needs ${plan.bindings} buffers`, {
      because: `the GPU binds ${limits.maxStorageBuffersPerShaderStage} at once`,
      hint: other
    });
  }
  if (plan.threads > limits.maxComputeInvocationsPerWorkgroup) {
    throw new UnsupportedError("webgpu-threads", `a kernel has workgroups of ${plan.threads}`, {
      because: `the GPU has ${limits.maxComputeInvocationsPerWorkgroup} invocations at most`,
      hint: other
    });
  }
  const large = plan.buffers.find((each) => each.nbytes > limits.maxBufferSize);
  if (large) {
    throw new UnsupportedError("webgpu-binding", `'${large.what}' has ${large.nbytes} bytes`, {
      because: `a buffer of the GPU has ${limits.maxBufferSize} at most`,
      hint: other
    });
  }
  for (const { buffers, ranges } of plan.steps.flatMap((step) => step.launches)) {
    const wide = ranges.findIndex(([, nbytes]) => nbytes > limits.maxStorageBufferBindingSize);
    if (wide < 0) continue;
    const what = plan.buffers[buffers[wide]].what;
    throw new UnsupportedError("webgpu-binding", `'${what}' has ${ranges[wide][1]} bytes`, {
      because: `the GPU binds ${limits.maxStorageBufferBindingSize} bytes at once`,
      hint: other
    });
  }
}
function nameOf(adapter) {
  const { description, vendor, architecture } = adapter.info ?? {};
  return description || [vendor, architecture].filter(Boolean).join(" ") || "the GPU";
}
function lossOf(device) {
  const lost = device.lost.then((info2) => {
    const asked = info2.reason === "destroyed";
    throw new DeviceError("webgpu-lost", asked ? "the model was closed" : "the GPU was lost", {
      because: info2.message || "the browser does not say why",
      hint: "load the model again: its files are kept"
    });
  });
  lost.catch(() => void 0);
  return lost;
}
async function named(opened, during, place, work) {
  const { device } = opened;
  for (const filter of ["validation", "internal", "out-of-memory"]) {
    device.pushErrorScope(filter);
  }
  let result;
  let thrown;
  try {
    result = work();
  } catch (error) {
    thrown = error;
  }
  const scopes = [device.popErrorScope(), device.popErrorScope(), device.popErrorScope()];
  const whole2 = (async () => {
    const [outcome, ...errors] = await Promise.allSettled([result, ...scopes]);
    for (const found of errors) {
      if (found.status === "fulfilled" && found.value) throw found.value;
    }
    if (thrown !== void 0) throw thrown;
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  })();
  try {
    return await Promise.race([whole2, opened.lost]);
  } catch (error) {
    throw error instanceof XyntraError ? error : await deviceError(opened, error, during, place);
  }
}
async function deviceError(opened, error, during, place) {
  const soon = new Promise((resolve) => setTimeout(resolve, 100));
  try {
    await Promise.race([opened.lost, soon]);
  } catch (loss) {
    return loss;
  }
  const details = { because: textOf(error), ...place && { place } };
  const kind = error?.constructor?.name ?? "";
  if (kind === "GPUOutOfMemoryError" || /out of memory/i.test(details.because ?? "")) {
    details.hint = "close other pages that use the GPU, or give the model smaller inputs";
    return new DeviceError("webgpu-memory", `the GPU ran out of memory while ${during}`, details);
  }
  const refused = kind === "GPUValidationError" || kind === "GPUPipelineError" && error.reason === "validation";
  if (refused) {
    details.hint = "please report this with the model";
    return new DeviceError("webgpu-validation", `the browser refused something while ${during}`, details);
  }
  details.hint = "load the model again";
  return new DeviceError("webgpu-failed", `the GPU failed while ${during}`, details);
}

// src/files.ts
var Files = class {
  constructor(base, options) {
    this.base = base;
    this.options = options;
    this.kept = openCache(options.cache ? `xyntra ${base}` : "");
  }
  base;
  options;
  kept;
  stopping = new AbortController();
  /** Stop what is still on its way, which fails. */
  stop() {
    this.stopping.abort();
  }
  /** Return the address of a file. */
  address(name) {
    return new URL(name, this.base).href;
  }
  /**
   * Return a text that may change: from the network, or what was kept where there is none.
   *
   * @throws LoadError it did not come.
   */
  async text(name) {
    const address = this.address(name);
    const cache = await this.kept;
    let bytes;
    try {
      bytes = await this.fetched(address, "no-cache", 1 << 28, () => void 0);
    } catch (error) {
      const unreachable = error instanceof LoadError && error.code !== "fetch-status";
      const kept = unreachable ? await cache?.match(address) : void 0;
      if (!kept) throw error;
      return kept.text();
    }
    await keep(cache, address, bytes);
    return new TextDecoder().decode(bytes);
  }
  /**
   * Return a file whose name stands for its contents.
   *
   * @param file what is expected.
   * @param progress is told the bytes that came; a smaller number where they are fetched again.
   * @throws LoadError it did not come, or is damaged.
   */
  async contents(file, progress) {
    const address = this.address(file.file);
    const cache = await this.kept;
    const kept = await cache?.match(address);
    if (kept) {
      const bytes = new Uint8Array(await kept.arrayBuffer());
      if (await wrong(file, bytes) === "") {
        progress(bytes.length);
        return bytes;
      }
      await cache?.delete(address);
    }
    let because = "";
    for (const mode of ["default", "reload"]) {
      const bytes = await this.fetched(address, mode, file.nbytes, progress);
      because = await wrong(file, bytes);
      if (because === "") {
        await keep(cache, address, bytes);
        return bytes;
      }
      progress(0);
    }
    throw new LoadError("file-damaged", "a file of the model is damaged", {
      place: address,
      because,
      hint: "copy the exported folder to the server again; export the model again if that is no help"
    });
  }
  /** Forget kept files that the plan no longer names. */
  async prune(names) {
    const wanted = new Set(names.map((name) => this.address(name)));
    try {
      const cache = await this.kept;
      for (const request of await cache?.keys() ?? []) {
        if (!wanted.has(request.url)) await cache?.delete(request);
      }
    } catch {
    }
  }
  /** Return what the server sends: at most one byte more than `most`. */
  async fetched(address, cache, most, progress) {
    const done = new AbortController();
    const given = this.options.signal;
    const signal = AbortSignal.any([done.signal, this.stopping.signal, ...given ? [given] : []]);
    try {
      const response = await this.patiently(fetch(address, { cache, signal }), address);
      if (!response.ok) throw missing(address, response.status);
      return await this.body(response, address, most, progress);
    } catch (error) {
      if (given?.aborted) throw new LoadError("load-stopped", "loading was stopped", {});
      if (error instanceof LoadError) throw error;
      throw new LoadError("fetch-failed", "a file of the model could not be fetched", {
        place: address,
        because: textOf(error),
        hint: "look whether the server runs and the network is there, then load the page again"
      });
    } finally {
      done.abort();
    }
  }
  async body(response, address, most, progress) {
    const parts = [];
    let nbytes = 0;
    const reader = response.body?.getReader();
    while (reader && nbytes <= most) {
      const { done, value } = await this.patiently(reader.read(), address);
      if (done) break;
      parts.push(value);
      nbytes += value.length;
      progress(Math.min(nbytes, most));
    }
    const whole2 = new Uint8Array(nbytes);
    let place = 0;
    for (const part of parts) {
      whole2.set(part, place);
      place += part.length;
    }
    return whole2;
  }
  patiently(work, address) {
    const { patience } = this.options;
    return within(work, 1e3 * patience, () => {
      return new LoadError("fetch-stalled", "the server stopped sending a file of the model", {
        place: address,
        because: `nothing came for ${patience} seconds`,
        hint: "load the page again: what has come is kept"
      });
    });
  }
};
function missing(address, status) {
  return new LoadError("fetch-status", "the server does not have a file of the model", {
    place: address,
    because: `it answered with status ${status}`,
    hint: "copy the whole exported folder to the server, and look whether the address is right"
  });
}
async function wrong(file, bytes) {
  if (bytes.length < file.nbytes) {
    return `it ends after ${bytes.length} of ${file.nbytes} bytes`;
  }
  if (bytes.length > file.nbytes) return `it has more than ${file.nbytes} bytes`;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return found === file.sha256 ? "" : `its SHA-256 is ${found}, and ${file.sha256} was written`;
}
async function openCache(name) {
  try {
    return name ? await caches.open(name) : void 0;
  } catch {
    return void 0;
  }
}
async function keep(cache, address, bytes) {
  try {
    await cache?.put(address, new Response(new Blob([bytes])));
  } catch {
  }
}

// src/tensors.ts
var BYTES = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float16: 2,
  bfloat16: 2,
  float32: 4
};
var ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array
};
function elements(shape) {
  return shape.reduce((product, size) => product * size, 1);
}
function tensorOf(port, bytes) {
  const data = new ARRAYS[port.dtype](bytes, 0, elements(port.shape));
  return { dtype: port.dtype, shape: [...port.shape], data };
}
function bytesOf(port, given) {
  const data = elementsOf(port, given);
  const count = elements(port.shape);
  if (data.length !== count) {
    throw new InputError("input-shape", `input '${port.name}' has ${data.length} elements`, {
      because: `the model takes ${count}, of shape [${port.shape.join(", ")}]`,
      hint: "the shape was fixed when the model was compiled: compile it for another one"
    });
  }
  const bytes = new Uint8Array(Math.ceil(count * BYTES[port.dtype] / 4) * 4);
  const target = new ARRAYS[port.dtype](bytes.buffer, 0, count);
  if (ArrayBuffer.isView(data)) {
    checkKind(port, data);
    const source = data;
    bytes.set(new Uint8Array(source.buffer, source.byteOffset, source.byteLength));
    if (port.dtype === "bool") checkFlags(port, target);
  } else {
    for (let index = 0; index < count; index++) {
      target[index] = numberOf(port, data[index], index);
    }
  }
  return bytes;
}
function elementsOf(port, given) {
  if (typeof given === "number" || typeof given === "bigint" || typeof given === "boolean") {
    return [given];
  }
  if (given === null || typeof given !== "object") {
    throw new InputError("input-dtype", `input '${port.name}' is no array`, {
      because: `it is ${given === null ? "null" : typeof given}`,
      hint: `give ${kindName(port.dtype)}, or a list of numbers`
    });
  }
  if ("data" in given) {
    const { data, shape } = given;
    if (shape && shape.join() !== port.shape.join()) {
      throw new InputError("input-shape", `input '${port.name}' has shape [${shape.join(", ")}]`, {
        because: `the model takes [${port.shape.join(", ")}]`,
        hint: "the shape was fixed when the model was compiled: compile it for another one"
      });
    }
    return data;
  }
  return given;
}
function kindName(dtype) {
  const name = ARRAYS[dtype].name;
  return dtype.endsWith("float16") ? `a ${name} of its bits` : `a ${name}`;
}
function checkKind(port, data) {
  const kind = data.constructor.name;
  const same = kind === ARRAYS[port.dtype].name;
  const close = kind === "Uint8ClampedArray" && port.dtype === "uint8";
  if (same || close || kind === "Float16Array" && port.dtype === "float16") return;
  throw new InputError("input-dtype", `input '${port.name}' is a ${kind}`, {
    because: `the model takes ${port.dtype}`,
    hint: `give ${kindName(port.dtype)}, or a list of numbers`
  });
}
function checkFlags(port, data) {
  const wrong2 = data.findIndex((each) => each > 1);
  if (wrong2 >= 0) throw badValue(port, data[wrong2], wrong2);
}
function numberOf(port, value, index) {
  if (!["number", "bigint", "boolean"].includes(typeof value)) throw badValue(port, value, index);
  let result;
  switch (port.dtype) {
    case "float32":
      result = Number(value);
      break;
    case "float16":
      result = halfBits(Number(value));
      break;
    case "bfloat16":
      result = brainBits(Number(value));
      break;
    default:
      result = integerOf(port, value, index);
  }
  return result;
}
function integerOf(port, value, index) {
  if (typeof value === "number" && !Number.isInteger(value)) throw badValue(port, value, index);
  const whole2 = BigInt(value);
  const bits = port.dtype === "bool" ? 1 : 8 * BYTES[port.dtype];
  const signed = port.dtype.startsWith("int");
  const fits = signed ? BigInt.asIntN(bits, whole2) : BigInt.asUintN(bits, whole2);
  if (fits !== whole2) throw badValue(port, value, index);
  return port.dtype.endsWith("64") ? whole2 : Number(whole2);
}
function badValue(port, value, index) {
  return new InputError("input-value", `input '${port.name}' has ${value} at ${index}`, {
    because: `the model takes ${port.dtype}, which has no such number`
  });
}
var floats = new Float32Array(1);
var words = new Uint32Array(floats.buffer);
function bitsOf(value) {
  floats[0] = value;
  return words[0];
}
function brainBits(value) {
  const bits = bitsOf(value);
  if (Number.isNaN(value)) return 32704;
  return bits + 32767 + (bits >>> 16 & 1) >>> 16 & 65535;
}
function halfBits(value) {
  const sign = Object.is(value, -0) || value < 0 ? 32768 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 32256;
  if (size >= 65520) return sign | 31744;
  const exponent = Math.max(Math.floor(Math.log2(Math.max(size, 2 ** -30))), -14);
  const scaled = size / 2 ** (exponent - 10);
  let digits = Math.floor(scaled);
  const rest = scaled - digits;
  if (rest > 0.5 || rest === 0.5 && digits % 2 === 1) digits += 1;
  return sign | digits + (exponent + 14 << 10);
}

// src/timing.ts
var Clock = class {
  constructor(device, steps) {
    this.steps = steps;
    const size = Math.max(16 * steps, 16);
    this.queries = device.createQuerySet({ type: "timestamp", count: Math.max(2 * steps, 2) });
    this.resolved = device.createBuffer({ size, usage: 516 });
    this.read_ = device.createBuffer({ size, usage: 9 });
  }
  steps;
  /** Steps that one set of queries has room for. */
  static MOST = 2048;
  queries;
  resolved;
  read_;
  /** Return what a pass of a step is told, which may be the first or the last of it. */
  pass(step, first, last) {
    if (!first && !last) return {};
    const timestampWrites = {
      querySet: this.queries,
      ...first && { beginningOfPassWriteIndex: 2 * step },
      ...last && { endOfPassWriteIndex: 2 * step + 1 }
    };
    return { timestampWrites };
  }
  resolve(encoder) {
    if (!this.steps) return;
    encoder.resolveQuerySet(this.queries, 0, 2 * this.steps, this.resolved, 0);
    encoder.copyBufferToBuffer(this.resolved, 0, this.read_, 0, 16 * this.steps);
  }
  /** Return the times of all steps, once they are done. */
  async read() {
    await this.read_.mapAsync(1);
    const ticks = new BigUint64Array(this.read_.getMappedRange().slice(0));
    for (const each of [this.queries, this.resolved, this.read_]) each.destroy();
    const origin = ticks[0] ?? 0n;
    return Array.from({ length: this.steps }, (_, step) => {
      const [begin, end] = [ticks[2 * step], ticks[2 * step + 1]];
      return { start: Number(begin - origin), nanoseconds: Math.max(Number(end - begin), 0) };
    });
  }
};
async function timeWithoutQueries(device, numbers, encode) {
  const found = [];
  const origin = performance.now();
  for (const number of numbers) {
    const begin = performance.now();
    const encoder = device.createCommandEncoder();
    encode(encoder, number);
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    const end = performance.now();
    found.push({ start: 1e6 * (begin - origin), nanoseconds: 1e6 * (end - begin) });
  }
  return found;
}

// src/model.ts
var Model = class {
  /** Use `Xyntra.load`. */
  constructor(plan, opened, buffers, dispatches) {
    this.plan = plan;
    this.opened = opened;
    this.buffers = buffers;
    this.dispatches = dispatches;
    let offset = 0;
    const ports = [...plan.outputs, ...plan.requirements.map((each) => each.flag)];
    this.results = ports.map((port) => {
      const nbytes = wholeWords(elements(port.shape) * BYTES[port.dtype]);
      const result = { port, offset, nbytes };
      offset += Math.ceil(nbytes / 8) * 8;
      return result;
    });
    this.staging = opened.device.createBuffer({ size: Math.max(offset, 8), usage: 9 });
  }
  plan;
  opened;
  buffers;
  dispatches;
  results;
  staging;
  last = Promise.resolve();
  /** The name of the model. */
  get name() {
    return this.plan.name;
  }
  get inputs() {
    return this.plan.inputs.map(info);
  }
  get outputs() {
    return this.plan.outputs.map(info);
  }
  /** The kernels of a call, in order. */
  get kernels() {
    return this.plan.steps.filter((step) => !step.once).map((step) => {
      const { name, kind } = this.plan.kernels[step.kernel];
      return { name, kind, nodes: [...step.nodes] };
    });
  }
  /** What the browser tells of the GPU. */
  get adapter() {
    return this.opened.name;
  }
  /** The GPU; a page may look at it, and should leave it as it is. */
  get device() {
    return this.opened.device;
  }
  /**
   * Run the model.
   *
   * @param inputs arrays by the names of inputs, which have been read when this returns.
   * @returns tensors by the names of outputs.
   * @throws InputError an input is missing, unknown or does not fit.
   * @throws DeviceError the GPU failed, or was lost.
   */
  async run(inputs) {
    const given = this.arranged(inputs);
    return this.queued(() => this.call(given));
  }
  /** Run the model and measure every step; slower than `run`. */
  async profile(inputs) {
    const given = this.arranged(inputs);
    return this.queued(() => this.measured(given));
  }
  /** Compute what depends on weights alone. */
  async prepare() {
    const numbers = this.numbers(true);
    if (!numbers.length) return;
    await named(this.opened, "loading the model", "", async () => {
      const { queue } = this.device;
      const encoder = this.device.createCommandEncoder();
      this.encode(encoder, numbers);
      queue.submit([encoder.finish()]);
      await queue.onSubmittedWorkDone();
    });
  }
  /** Free the memory of the GPU. Calls on their way fail. */
  destroy() {
    this.device.destroy();
  }
  queued(work) {
    const next = this.last.then(work);
    this.last = next.catch(() => void 0);
    return next;
  }
  arranged(inputs) {
    const known = this.plan.inputs.map((port) => port.name);
    const hint = `the inputs are ${known.map((name) => `'${name}'`).join(", ") || "none"}`;
    for (const name of Object.keys(inputs ?? {})) {
      if (!known.includes(name)) {
        throw new InputError("input-unknown", `there is no input '${name}'`, { hint });
      }
    }
    return this.plan.inputs.map((port) => {
      const given = inputs && Object.hasOwn(inputs, port.name) ? inputs[port.name] : void 0;
      if (given === void 0) {
        throw new InputError("input-missing", `input '${port.name}' is missing`, { hint });
      }
      return bytesOf(port, given);
    });
  }
  numbers(once) {
    return [...this.plan.steps.keys()].filter((number) => this.plan.steps[number].once === once);
  }
  async call(given) {
    return named(this.opened, "running the model", "", () => {
      this.upload(given);
      const encoder = this.device.createCommandEncoder();
      this.encode(encoder, this.numbers(false));
      this.encodeResults(encoder);
      this.device.queue.submit([encoder.finish()]);
      return this.download();
    });
  }
  async measured(given) {
    const { device, opened, plan } = this;
    const numbers = this.numbers(false);
    const steps = numbers.map((number) => plan.steps[number]);
    const names = steps.map((step) => plan.kernels[step.kernel]);
    return named(opened, "running the model", "", async () => {
      this.upload(given);
      let times;
      const clock = opened.hasTimes && numbers.length <= Clock.MOST ? new Clock(device, numbers.length) : void 0;
      const encoder = device.createCommandEncoder();
      if (clock) {
        numbers.forEach((number, index) => this.encode(encoder, [number], clock, index));
        clock.resolve(encoder);
      } else {
        times = await timeWithoutQueries(device, numbers, (each, number) => {
          this.encode(each, [number]);
        });
      }
      this.encodeResults(encoder);
      device.queue.submit([encoder.finish()]);
      const outputs = await this.download();
      times = clock ? await clock.read() : times;
      const found = times.map((time, index) => {
        const { name, kind } = names[index];
        return { kernel: name, kind, nodes: [...steps[index].nodes], ...time };
      });
      return { outputs, steps: found, exact: clock !== void 0 };
    });
  }
  /** Encode steps; copies between launches are made outside of passes. */
  encode(encoder, numbers, clock, index = 0) {
    const all = numbers.flatMap((number) => this.dispatches[number]);
    const begins = all.map((each, place) => place === 0 || each.copies.length > 0);
    const last = begins.lastIndexOf(true);
    let pass;
    all.forEach((each, place) => {
      if (begins[place]) {
        pass?.end();
        for (const [source, destination, offset, nbytes] of each.copies) {
          const [from, to] = [this.buffers[source], this.buffers[destination]];
          encoder.copyBufferToBuffer(from, 0, to, offset, nbytes);
        }
        pass = encoder.beginComputePass(clock?.pass(index, place === 0, place === last) ?? {});
      }
      pass.setPipeline(each.pipeline);
      pass.setBindGroup(0, each.bindings);
      pass.dispatchWorkgroups(...each.grid);
    });
    pass?.end();
  }
  upload(given) {
    this.plan.inputs.forEach((port, index) => {
      const bytes = given[index];
      if (bytes.length) this.device.queue.writeBuffer(this.buffers[port.buffer], 0, bytes);
    });
  }
  encodeResults(encoder) {
    for (const { port, offset, nbytes } of this.results) {
      const source = this.buffers[port.buffer];
      if (nbytes) encoder.copyBufferToBuffer(source, 0, this.staging, offset, nbytes);
    }
  }
  async download() {
    await this.staging.mapAsync(1);
    let tensors;
    try {
      tensors = this.results.map(({ port, offset, nbytes }) => {
        const view = nbytes ? this.staging.getMappedRange(offset, nbytes).slice(0) : new ArrayBuffer(0);
        return tensorOf(port, view);
      });
    } finally {
      this.staging.unmap();
    }
    const count = this.plan.outputs.length;
    this.plan.requirements.forEach((each, index) => {
      if (tensors[count + index].data[0]) return;
      const { code, message, place, cause, hint } = each;
      throw new InputError(code, message, {
        ...place && { place },
        ...cause && { because: cause },
        ...hint && { hint }
      });
    });
    return Object.fromEntries(this.plan.outputs.map((port, index) => [port.name, tensors[index]]));
  }
};
function info({ name, dtype, shape }) {
  return { name, dtype, shape: [...shape] };
}
function wholeWords(nbytes) {
  return Math.ceil(nbytes / 4) * 4;
}

// src/pipelines.ts
async function makeDispatches(opened, plan, shaders, buffers, progress) {
  const maker = new Maker(opened, plan, shaders, progress);
  const steps = await Promise.all(
    plan.steps.map((step) => Promise.all(
      step.launches.map((launch) => maker.pipeline(step.kernel, launch))
    ))
  );
  return named(opened, "binding buffers", "", () => steps.map((pipelines, step) => pipelines.map((pipeline, number) => {
    const launch = plan.steps[step].launches[number];
    const entries = launch.buffers.map((each, binding) => {
      const [offset, size] = launch.ranges[binding];
      return { binding, resource: { buffer: buffers[each], offset, size } };
    });
    const layout = maker.layout(launch.written);
    const bindings = opened.device.createBindGroup({ layout, entries });
    return { pipeline, bindings, grid: launch.grid, copies: launch.copies };
  })));
}
var Maker = class {
  constructor(opened, plan, shaders, progress) {
    this.opened = opened;
    this.plan = plan;
    this.shaders = shaders;
    this.progress = progress;
  }
  opened;
  plan;
  shaders;
  progress;
  modules = /* @__PURE__ */ new Map();
  layouts = /* @__PURE__ */ new Map();
  pipelines = /* @__PURE__ */ new Map();
  made = 0;
  /** Return the layout of so many buffers, of which some are written. */
  layout(written) {
    const key = written.join();
    let found = this.layouts.get(key);
    if (!found) {
      const entries = written.map((each, binding) => {
        const type = each ? "storage" : "read-only-storage";
        return { binding, visibility: 4, buffer: { type } };
      });
      found = this.opened.device.createBindGroupLayout({ entries });
      this.layouts.set(key, found);
    }
    return found;
  }
  /** Return the pipeline of a launch. */
  pipeline(kernel, launch) {
    const key = `${kernel} ${launch.entry}`;
    let found = this.pipelines.get(key);
    if (!found) {
      found = this.make(kernel, launch);
      this.pipelines.set(key, found);
    }
    return found;
  }
  async make(kernel, launch) {
    const { device } = this.opened;
    const layouts = [this.layout(launch.written)];
    const place = this.place(kernel);
    let module = this.modules.get(kernel);
    const pipeline = await named(this.opened, "making a pipeline", place, () => {
      if (!module) {
        const { name, start, nbytes } = this.plan.kernels[kernel];
        const code = new TextDecoder().decode(this.shaders.subarray(start, start + nbytes));
        module = device.createShaderModule({ code, label: name });
        this.modules.set(kernel, module);
      }
      return device.createComputePipelineAsync({
        label: launch.entry,
        layout: device.createPipelineLayout({ bindGroupLayouts: layouts }),
        compute: { module, entryPoint: launch.entry }
      });
    }).catch(async (error) => {
      throw await withMessages(error, module);
    });
    this.made += 1;
    this.progress(this.made, this.pipelines.size);
    return pipeline;
  }
  place(kernel) {
    const steps = this.plan.steps.filter((step) => step.kernel === kernel);
    const nodes = [...new Set(steps.flatMap((step) => step.nodes))];
    return `kernel '${this.plan.kernels[kernel].name}' (${nodes.slice(0, 20).join(", ")})`;
  }
};
async function withMessages(error, module) {
  if (!(error instanceof DeviceError) || error.code !== "webgpu-validation" || !module) return error;
  const info2 = await module.getCompilationInfo();
  const found = info2.messages.filter((each) => each.type === "error");
  if (!found.length) return error;
  const because = found.map((each) => `${each.lineNum}:${each.linePos} ${each.message}`).join("\n");
  return new DeviceError(error.code, error.message, { place: error.place, because, hint: error.hint });
}

// src/plan.ts
var FORMAT = "xyntra-web";
var VERSION = 1;
var FILE = /^[\w-]+(\/[\w-]+)?\.(bin|wgsl)$/;
function parsePlan(text, place) {
  let plan;
  try {
    plan = JSON.parse(text);
    check(plan?.format === FORMAT, "it is no plan of Xyntra's");
  } catch (error) {
    throw invalid(place, String(error));
  }
  if (plan.version !== VERSION) {
    throw new LoadError("plan-version", `the model's plan has version ${plan.version}`, {
      place,
      because: `this runtime reads version ${VERSION}`,
      hint: "export the model and its runtime together, and clear the browser's cache"
    });
  }
  try {
    checkPlan(plan);
  } catch (error) {
    throw invalid(place, String(error));
  }
  return plan;
}
function invalid(place, because) {
  return new LoadError("plan-invalid", "the model's plan cannot be read", {
    place,
    because,
    hint: "check that the address is that of an exported folder, and export the model again"
  });
}
function checkPlan(plan) {
  const sizes = plan.buffers.map((each) => each.nbytes);
  check(sizes.every((size) => whole(size, 1, Infinity) && size % 4 === 0), "a buffer has no size");
  for (const port of [...plan.inputs, ...plan.outputs, ...plan.requirements.map((r) => r.flag)]) {
    check(port.dtype in BYTES, `'${port.name}' has an unknown type`);
    check(port.shape.every((size) => whole(size, 0, Infinity)), `'${port.name}' has no shape`);
    const nbytes = elements(port.shape) * BYTES[port.dtype];
    check(whole(port.buffer, 0, sizes.length - 1), `'${port.name}' has no buffer`);
    check(nbytes <= (sizes[port.buffer] ?? 0), `'${port.name}' is larger than its buffer`);
  }
  const total = plan.chunks.reduce((sum, each) => sum + each.nbytes, 0);
  for (const each of [plan.shaders, ...plan.chunks]) {
    check(FILE.test(each.file), `'${each.file}' is no file of a model`);
    check(whole(each.nbytes, 0, 2 ** 31) && /^[0-9a-f]{64}$/.test(each.sha256), "a file's hash");
  }
  check(plan.chunks.every((each) => each.nbytes % 4 === 0), "a chunk has no whole words");
  for (const [buffer, offset, nbytes] of plan.contents) {
    check(whole(buffer, 0, sizes.length - 1) && nbytes === sizes[buffer], "contents do not fit");
    check(whole(offset, 0, total - nbytes) && offset % 4 === 0, "contents are not in the chunks");
  }
  for (const kernel of plan.kernels) {
    check(whole(kernel.start, 0, plan.shaders.nbytes - kernel.nbytes), "a kernel has no code");
  }
  for (const step of plan.steps) {
    check(whole(step.kernel, 0, plan.kernels.length - 1), "a step has no kernel");
    check(step.launches.length > 0, "a step launches nothing");
    for (const launch of step.launches) checkLaunch(launch, sizes);
  }
}
function checkLaunch(launch, sizes) {
  check(launch.written.length === launch.buffers.length, "a launch has other buffers");
  check(launch.buffers.every((each) => whole(each, 0, sizes.length - 1)), "a launch has no buffer");
  check(launch.ranges.length === launch.buffers.length, "a launch binds other buffers");
  launch.ranges.forEach(([start, nbytes], index) => {
    const size = sizes[launch.buffers[index]];
    check(whole(nbytes, 4, size) && nbytes % 4 === 0, "a launch binds beyond a buffer");
    check(whole(start, 0, size - nbytes) && start % 256 === 0, "a launch binds beyond a buffer");
  });
  check(launch.grid.every((each) => whole(each, 0, 65535)), "a launch is too large");
  for (const [source, destination, offset, nbytes] of launch.copies) {
    check(whole(nbytes, 0, sizes[source] ?? -1), "a copy reads beyond a buffer");
    check(whole(offset, 0, (sizes[destination] ?? -1) - nbytes), "a copy writes beyond a buffer");
  }
}
function whole(value, least, most) {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}
function check(right, message) {
  if (!right) throw new Error(message);
}

// src/weights.ts
var AT_ONCE = 3;
async function uploadWeights(files, plan, queue, buffers, progress) {
  const starts = [];
  let total = 0;
  for (const chunk of plan.chunks) {
    starts.push(total);
    total += chunk.nbytes;
  }
  const loaded2 = plan.chunks.map(() => 0);
  const waiting = [...plan.chunks.keys()];
  let failed = false;
  const work = async () => {
    for (let number = waiting.shift(); number !== void 0 && !failed; number = waiting.shift()) {
      const bytes = await files.contents(plan.chunks[number], (nbytes) => {
        loaded2[number] = nbytes;
        progress(loaded2.reduce((sum, each) => sum + each, 0));
      });
      write(plan, queue, buffers, bytes, starts[number]);
    }
  };
  const workers = Array.from({ length: AT_ONCE }, work);
  await Promise.all(workers).catch((error) => {
    failed = true;
    throw error;
  });
}
function write(plan, queue, buffers, chunk, start) {
  for (const [buffer, offset, nbytes] of plan.contents) {
    const first = Math.max(offset, start);
    const end = Math.min(offset + nbytes, start + chunk.length);
    if (first < end) {
      const part = chunk.subarray(first - start, end - start);
      queue.writeBuffer(buffers[buffer], first - offset, part);
    }
  }
}

// src/index.ts
async function load(url, options = {}) {
  checkPage();
  const base = new URL(".", new URL(url, globalThis.location?.href)).href;
  const { cache = true, patience = 60, signal } = options;
  const files = new Files(base, { cache, patience, signal });
  const plan = parsePlan(await files.text("plan.json"), files.address("plan.json"));
  const opened = await openDevice(plan, options.powerPreference);
  try {
    return await loaded(files, plan, opened, options.onProgress);
  } catch (error) {
    files.stop();
    opened.device.destroy();
    throw error;
  }
}
async function loaded(files, plan, opened, onProgress) {
  const { device } = opened;
  const entries = plan.steps.flatMap((step) => step.launches.map((l) => `${step.kernel} ${l.entry}`));
  const bytes = plan.chunks.reduce((sum, each) => sum + each.nbytes, 0);
  const progress = { loaded: 0, bytes, compiled: 0, pipelines: new Set(entries).size };
  const report = () => onProgress?.({ ...progress });
  report();
  const buffers = await named(opened, "loading the model", "", () => plan.buffers.map(({ nbytes }) => device.createBuffer({ size: nbytes, usage: 140 })));
  const shaders = await files.contents(plan.shaders, () => void 0);
  const [dispatches] = await Promise.all([
    makeDispatches(opened, plan, shaders, buffers, (made) => {
      progress.compiled = made;
      report();
    }),
    Promise.race([opened.lost, uploadWeights(files, plan, device.queue, buffers, (nbytes) => {
      progress.loaded = nbytes;
      report();
    })])
  ]);
  const model = new Model(plan, opened, buffers, dispatches);
  await model.prepare();
  await files.prune(["plan.json", plan.shaders.file, ...plan.chunks.map((each) => each.file)]);
  return model;
}
var Xyntra = { load };
var index_default = Xyntra;
export {
  DeviceError,
  InputError,
  LoadError,
  Model,
  UnsupportedError,
  Xyntra,
  XyntraError,
  index_default as default
};
