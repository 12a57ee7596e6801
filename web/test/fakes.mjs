// SPDX-License-Identifier: MIT OR Apache-2.0
/** Stands in for a browser's GPU, network and cache. Kernels are JavaScript, run on real bytes. */

import { createHash } from "node:crypto";

const LIMITS = {
  maxComputeWorkgroupStorageSize: 16384, maxStorageBuffersPerShaderStage: 8,
  maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256,
  maxStorageBufferBindingSize: 128 << 20, maxBufferSize: 256 << 20,
};

export class GPUValidationError extends Error {}
export class GPUOutOfMemoryError extends Error {}
class GPUPipelineError extends Error {
  reason = "validation";
}

class FakeBuffer {
  constructor(device, { size, usage }) {
    Object.assign(this, { device, size, usage, bytes: new Uint8Array(size), destroyed: false });
  }
  async mapAsync() {
    await this.device.done();
    if (this.device.isLost) throw new Error("the device is lost");
  }
  getMappedRange(offset = 0, nbytes = this.size) {
    return this.bytes.slice(offset, offset + nbytes).buffer;
  }
  unmap() {}
  destroy() {
    this.destroyed = true;
  }
}

/** A device that runs what is submitted, unless `stuck`: then its work never ends. */
export class FakeDevice {
  scopes = [];
  isLost = false;
  stuck = false;
  made = { buffers: 0, pipelines: 0, modules: 0 };
  fail = {};

  constructor(descriptor, hasTimes) {
    this.descriptor = descriptor;
    this.hasTimes = hasTimes;
    this.lost = new Promise((resolve) => (this.lose = (reason = "unknown", message = "reset") => {
      this.isLost = true;
      resolve({ reason, message });
    }));
    this.queue = {
      writeBuffer: (buffer, offset, data) => {
        if (data.length % 4 || offset + data.length > buffer.size) {
          this.report(new GPUValidationError("a write beyond a buffer"));
        } else buffer.bytes.set(data, offset);
      },
      submit: (lists) => lists.flat().forEach((each) => each()),
      onSubmittedWorkDone: () => this.done(),
    };
  }
  done() {
    return this.stuck ? new Promise(() => undefined) : Promise.resolve();
  }
  report(error) {
    const scope = this.scopes.at(-1);
    if (!scope) throw new Error("an error outside of every scope");
    scope.error ??= error;
  }
  pushErrorScope(filter) {
    this.scopes.push({ filter });
  }
  async popErrorScope() {
    return this.scopes.pop().error ?? null;
  }
  destroy() {
    this.lose("destroyed", "");
  }
  createBuffer(descriptor) {
    this.made.buffers += 1;
    if (this.fail.buffer) this.report(this.fail.buffer);
    return new FakeBuffer(this, descriptor);
  }
  createQuerySet({ count }) {
    return { times: new BigUint64Array(count), destroy() {} };
  }
  createShaderModule({ code, label }) {
    this.made.modules += 1;
    const messages = code.includes("syntax")
      ? [{ type: "error", lineNum: 1, linePos: 2, message: "it does not parse" }]
      : [];
    return { code, label, getCompilationInfo: async () => ({ messages }) };
  }
  createBindGroupLayout = (descriptor) => descriptor;
  createPipelineLayout = (descriptor) => descriptor;
  createBindGroup({ entries, layout }) {
    if (entries.length !== layout.entries.length) this.report(new GPUValidationError("bindings"));
    return entries.map(({ resource: { buffer, offset, size } }) => {
      return { bytes: buffer.bytes.subarray(offset, offset + size) };
    });
  }
  async createComputePipelineAsync({ compute: { module, entryPoint } }) {
    this.made.pipelines += 1;
    if (module.code.includes("syntax")) throw new GPUPipelineError("invalid module");
    return new Function("buffers", "grid", `${module.code}; return ${entryPoint};`)();
  }
  createCommandEncoder() {
    const list = [];
    const clock = { now: 0n };
    return {
      copyBufferToBuffer: (from, a, to, b, n) => list.push(() => {
        to.bytes.set(from.bytes.subarray(a, a + n), b);
      }),
      beginComputePass: ({ timestampWrites: writes } = {}) => {
        let pipeline, bound;
        const stamp = (index) => list.push(() => {
          if (index !== undefined) writes.querySet.times[index] = clock.now += 1000n;
        });
        stamp(writes?.beginningOfPassWriteIndex);
        return {
          setPipeline: (each) => (pipeline = each),
          setBindGroup: (_, each) => (bound = each),
          dispatchWorkgroups: (...grid) => {
            const [run, buffers] = [pipeline, bound];
            list.push(() => run(buffers.map((each) => each.bytes), grid));
          },
          end: () => stamp(writes?.endOfPassWriteIndex),
        };
      },
      resolveQuerySet: (set, first, count, buffer) => list.push(() => {
        buffer.bytes.set(new Uint8Array(set.times.buffer, 8 * first, 8 * count));
      }),
      finish: () => list,
    };
  }
}

/** Set up a browser whose server has `files`; returns what a test may change and look at. */
export function browser(files, { limits = {}, features = ["timestamp-query"] } = {}) {
  const world = { files, requests: [], devices: [], kept: new Map(), tamper: {}, adapter: undefined };
  const adapter = {
    limits: { ...LIMITS, ...limits },
    features: new Set(features),
    info: { description: "a GPU of tests" },
    requestDevice: async (descriptor) => {
      if (world.noDevice) throw new Error("no device");
      const device = new FakeDevice(descriptor, features.includes("timestamp-query"));
      Object.assign(device, world.deviceIs);
      world.devices.push(device);
      return device;
    },
  };
  const gpu = { requestAdapter: async () => (world.adapter === null ? null : adapter) };
  set("navigator", { gpu });
  set("location", { href: "http://localhost/site/index.html", protocol: "http:" });
  set("isSecureContext", true);
  set("caches", { open: async (name) => cacheOf(world, name) });
  set("fetch", async (address, { signal, cache }) => answer(world, address, signal, cache));
  return world;
}

function set(name, value) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

function cacheOf(world, name) {
  if (!world.kept.has(name)) world.kept.set(name, new Map());
  const kept = world.kept.get(name);
  return {
    match: async (url) => (kept.has(url) ? new Response(kept.get(url)) : undefined),
    put: async (url, response) => {
      if (world.noRoom) throw new Error("quota");
      kept.set(url, Buffer.from(await response.arrayBuffer()));
    },
    delete: async (key) => kept.delete(key.url ?? key),
    keys: async () => [...kept.keys()].map((url) => ({ url })),
  };
}

async function answer(world, address, signal, mode) {
  world.requests.push(`${address} ${mode}`);
  if (world.offline) throw new TypeError("Failed to fetch");
  const name = address.replace("http://localhost/site/", "");
  if (!(name in world.files)) return new Response("", { status: 404 });
  const data = world.tamper[name]?.(world.files[name], mode) ?? world.files[name];
  if (data !== "stall") return new Response(data);
  return new Response(new ReadableStream({
    start(controller) {
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  }));
}

/** Return the files of a site of a plan: kernels by name, and the bytes of weights in chunks. */
export function site(plan, kernels, chunks = []) {
  const files = {};
  const file = (name, data) => {
    files[name] = data;
    return { file: name, nbytes: data.length, sha256: createHash("sha256").update(data).digest("hex") };
  };
  let code = "";
  const described = Object.entries(kernels).map(([name, text]) => {
    const found = { name, kind: "elementwise", start: code.length, nbytes: text.length };
    code += text;
    return found;
  });
  const whole = {
    format: "xyntra-web", version: 1, name: "test", compiler: "", features: [], bindings: 3,
    threads: 64, requirements: [], contents: [], ...plan, kernels: described,
    shaders: file("kernels-0.wgsl", Buffer.from(code)),
    chunks: chunks.map((data, number) => file(`weights/${number}.bin`, Buffer.from(data))),
  };
  files["plan.json"] = JSON.stringify(whole);
  return files;
}
