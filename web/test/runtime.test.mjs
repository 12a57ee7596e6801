// SPDX-License-Identifier: MIT OR Apache-2.0
/** The built runtime on a GPU, a network and a cache that stand in for a browser's. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { DeviceError, InputError, LoadError, UnsupportedError, Xyntra } from "../../xyntra/targets/webgpu/web/xyntra.js";
import { browser, GPUOutOfMemoryError, GPUValidationError, site } from "./fakes.mjs";

const ADD = `function add([x, w, y]) {
  const [a, b, c] = [x, w, y].map((each) => new Float32Array(each.buffer));
  for (let i = 0; i < 3; i++) c[i] = a[i] + b[i];
}`;
const launch = (entry, buffers, written, copies = [], ranges = buffers.map(() => [0, 12])) => {
  return { entry, grid: [1, 1], buffers, ranges, written, copies };
};
const step = (kernel, launches, once = false) => ({ kernel, nodes: [`node ${kernel}`], once, launches });
const port = (name, buffer, dtype = "float32", shape = [3]) => ({ name, dtype, shape, buffer });
const buffers = (...sizes) => sizes.map((nbytes, number) => ({ nbytes, what: `buffer ${number}` }));

/** y = x + w, with w cut into chunks of 8 and 4 bytes. */
function addSite(changes = {}) {
  const weights = new Uint8Array(new Float32Array([10, 20, 30]).buffer);
  const plan = {
    inputs: [port("x", 0)], outputs: [port("y", 2)], buffers: buffers(12, 12, 12),
    contents: [[1, 0, 12]],
    steps: [step(0, [launch("add", [0, 1, 2], [false, false, true])])],
    ...changes,
  };
  return site(plan, { add: ADD }, [weights.slice(0, 8), weights.slice(8)]);
}

const load = (options) => Xyntra.load("./", options);
const fails = (kind, code, pattern = /./) => (error) => {
  assert.ok(error instanceof kind, `${error}`);
  assert.equal(error.code, code, `${error}`);
  assert.match(String(error), pattern);
  return true;
};

test("loads weights from chunks, tells of progress, and runs", async () => {
  const world = browser(addSite());
  const told = [];
  const model = await load({ onProgress: (each) => told.push(each) });
  assert.deepEqual(told[0], { loaded: 0, bytes: 12, compiled: 0, pipelines: 1 });
  assert.deepEqual(told.at(-1), { loaded: 12, bytes: 12, compiled: 1, pipelines: 1 });
  const { y } = await model.run({ x: new Float32Array([1, 2, 3]) });
  assert.deepEqual(y, { dtype: "float32", shape: [3], data: new Float32Array([11, 22, 33]) });
  assert.deepEqual((await model.run({ x: [0, 0.5, -1] })).y.data, new Float32Array([10, 20.5, 29]));
  assert.equal(world.devices[0].descriptor.requiredLimits.maxStorageBuffersPerShaderStage, 8);
  assert.deepEqual(model.inputs, [{ name: "x", dtype: "float32", shape: [3] }]);
  assert.equal(model.kernels[0].nodes[0], "node 0");
});

test("calls that overlap have results of their own", async () => {
  browser(addSite());
  const model = await load();
  const given = new Float32Array([1, 1, 1]);
  const calls = [0, 1, 2, 3].map((number) => {
    given.fill(number); // a call has read its inputs when it returns
    return model.run({ x: given });
  });
  const found = (await Promise.all(calls)).map(({ y }) => y.data[0]);
  assert.deepEqual(found, [10, 11, 12, 13]);
});

test("steps of the load, copies ahead of launches, and shared pipelines", async () => {
  const files = site({
    inputs: [port("x", 0)], outputs: [port("y", 3)], buffers: buffers(12, 12, 24, 12),
    contents: [[1, 0, 12]],
    steps: [
      step(0, [launch("twice", [1], [true])], true),
      step(1, [launch("halves", [3, 2], [true, false], [[0, 2, 0, 12], [1, 2, 12, 12]], [[0, 12], [0, 24]])]),
    ],
  }, {
    twice: "function twice([w]) { const a = new Float32Array(w.buffer); for (let i in a) a[i] *= 2; }",
    halves: `function halves([y, both]) { const a = new Float32Array(both.buffer);
      new Float32Array(y.buffer).forEach((_, i, c) => { c[i] = a[i] - a[i + 3]; }); }`,
  }, [new Uint8Array(new Float32Array([1, 2, 3]).buffer)]);
  browser(files);
  const model = await load();
  for (let call = 0; call < 2; call++) {
    assert.deepEqual((await model.run({ x: [9, 9, 9] })).y.data, new Float32Array([7, 5, 3]));
  }
  assert.equal(model.kernels.length, 1);
});

for (const features of [["timestamp-query"], []]) {
  test(`measures steps, with features '${features}'`, async () => {
    browser(addSite(), { features });
    const model = await load();
    const { outputs, steps, exact } = await model.profile({ x: [1, 2, 3] });
    assert.equal(outputs.y.data[2], 33);
    assert.equal(exact, features.length > 0);
    assert.equal(steps[0].kernel, "add");
    if (exact) assert.deepEqual([steps[0].start, steps[0].nanoseconds], [0, 1000]);
  });
}

test("a buffer that is bound in parts", async () => {
  const parts = launch("both", [0, 0, 1], [false, false, true], [], [[0, 256], [256, 4], [0, 4]]);
  browser(site({
    inputs: [port("x", 0, "float32", [65])], outputs: [port("y", 1, "float32", [1])],
    buffers: buffers(260, 4), steps: [step(0, [parts])],
  }, {
    both: `function both([low, high, y]) {
      const [a, b, c] = [low, high, y].map((e) => new Float32Array(e.buffer, e.byteOffset, e.length / 4));
      c[0] = 100 * a.length + a[63] + b[0];
    }`,
  }));
  const model = await load();
  const x = Float32Array.from({ length: 65 }, (_, index) => index);
  assert.equal((await model.run({ x })).y.data[0], 6400 + 63 + 64);
});

test("a requirement that does not hold is its error", async () => {
  const flag = { ...port("flag", 0, "bool", [1]), buffer: 0 };
  const requirement = { flag, code: "branch-not-compiled", message: "not compiled", hint: "compile it" };
  browser(addSite({ requirements: [requirement] }));
  const model = await load();
  await assert.rejects(model.run({ x: [0, 1, 1] }), fails(InputError, "branch-not-compiled", /compile it/));
  const bits = new Float32Array(new Uint32Array([1, 0, 0]).buffer);
  assert.equal((await model.run({ x: bits })).y.data[1], 20);
});

const GIVEN = [
  [{}, "input-missing", /'x' is missing/],
  [{ x: [1, 2, 3], z: 1 }, "input-unknown", /'z'[^]*'x'/],
  [{ x: [1, 2] }, "input-shape", /takes 3/],
  [{ x: { data: [1, 2, 3], shape: [1, 3] } }, "input-shape", /takes \[3\]/],
  [{ x: new Float64Array(3) }, "input-dtype", /Float64Array[^]*Float32Array/],
  [{ x: null }, "input-dtype", /no array/],
  [{ x: "abc" }, "input-dtype", /no array/],
  [{ x: ["a", "b", "c"] }, "input-value", /at 0/],
];
test("inputs that do not fit are named", async () => {
  browser(addSite());
  const model = await load();
  for (const [inputs, code, pattern] of GIVEN) {
    await assert.rejects(model.run(inputs), fails(InputError, code, pattern));
  }
  assert.equal((await model.run({ x: [1, 1, 1] })).y.data[0], 11);
});

test("integers fit or are refused; 16-bit floats are rounded to even", async () => {
  const cases = [
    ["uint8", [0, 255], [256], [-1], [0.5]], ["int8", [-128, 127], [128], [-129]],
    ["int64", [-(2n ** 63n), 7], [2n ** 63n]], ["bool", [0, 1], [2]], ["bool", [true, false]],
    ["uint32", [0, 2 ** 32 - 1], [2 ** 32]],
  ];
  for (const [dtype, good, ...bad] of cases) {
    browser(identity(dtype, good.length));
    const model = await load();
    const found = (await model.run({ x: good })).y.data;
    assert.deepEqual(Array.from(found, Number), good.map(Number), dtype);
    for (const each of bad) {
      const given = good.map(() => each[0]);
      await assert.rejects(model.run({ x: given }), fails(InputError, "input-value"), dtype);
    }
  }
  const halves = [[1, 0x3c00], [65504, 0x7bff], [65520, 0x7c00], [2 ** -24, 1], [2 ** -25, 0],
    [1.5 * 2 ** -24, 2], [-0, 0x8000], [NaN, 0x7e00], [-Infinity, 0xfc00], [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02], [2 - 2 ** -12, 0x4000], [2 ** -14, 0x400], [1 / 3, 0x3555]];
  const brains = [[1, 0x3f80], [NaN, 0x7fc0], [1 + 2 ** -8, 0x3f80], [1 + 3 * 2 ** -8, 0x3f82],
    [-Infinity, 0xff80], [3.4e38, 0x7f80]];
  for (const [dtype, pairs] of [["float16", halves], ["bfloat16", brains]]) {
    browser(identity(dtype, pairs.length));
    const model = await load();
    const found = (await model.run({ x: pairs.map(([value]) => value) })).y.data;
    assert.deepEqual(Array.from(found), pairs.map(([, bits]) => bits), dtype);
  }
});

/** Copies its input. */
function identity(dtype, count) {
  const size = 8 * count;
  const shape = [count];
  return site({
    inputs: [port("x", 0, dtype, shape)], outputs: [port("y", 1, dtype, shape)],
    buffers: buffers(size, size),
    steps: [step(0, [launch("copy", [0, 1], [false, true], [], [[0, size], [0, size]])])],
  }, { copy: "function copy([x, y]) { y.set(x); }" });
}

const flip = (data) => Buffer.from(data.map((byte, at) => (at === 3 ? byte ^ 1 : byte)));
const DAMAGES = [
  ["weights/0.bin", flip, "file-damaged", /SHA-256/],
  ["weights/0.bin", (data) => data.subarray(0, 5), "file-damaged", /ends after 5 of 8/],
  ["weights/1.bin", (data) => Buffer.concat([data, data]), "file-damaged", /more than 4/],
  ["weights/1.bin", () => Buffer.alloc(0), "file-damaged", /ends after 0/],
  ["kernels-0.wgsl", flip, "file-damaged", /SHA-256/],
  ["weights/0.bin", () => "stall", "fetch-stalled", /0.05 seconds/],
  ["plan.json", () => "stall", "fetch-stalled", /0.05 seconds/],
  ["plan.json", () => "<html>", "plan-invalid", /export/],
  ["plan.json", () => "{}", "plan-invalid", /no plan/],
  ["plan.json", (text) => text.replace('"version":1', '"version":9'), "plan-version", /version 9/],
  ["plan.json", (text) => text.replace('"buffer":2', '"buffer":7'), "plan-invalid", /'y' has no buffer/],
  ["plan.json", (text) => text.replace('"ranges":[[0,12]', '"ranges":[[0,16]'), "plan-invalid", /beyond/],
  ["plan.json", (text) => text.replace("weights/0.bin", "../../x.bin"), "plan-invalid", /no file of a model/],
  ["plan.json", (text) => text.replace('"contents":[[1,0', '"contents":[[1,4'), "plan-invalid", /chunks/],
];
for (const [name, tamper, code, pattern] of DAMAGES) {
  test(`${name} that is spoilt: ${code} ${pattern}`, async () => {
    const world = browser(addSite());
    world.tamper[name] = tamper;
    await assert.rejects(load({ patience: 0.05 }), fails(LoadError, code, pattern));
    assert.ok(world.devices.every((device) => device.isLost), "memory is freed");
    delete world.tamper[name]; // what came damaged is not kept
    const model = await load();
    assert.equal((await model.run({ x: [1, 1, 1] })).y.data[2], 31);
  });
}

test("a damaged copy in the browser is fetched again", async () => {
  const world = browser(addSite());
  await load();
  const [kept] = world.kept.values();
  const address = "http://localhost/site/weights/0.bin";
  kept.set(address, Buffer.alloc(8, 1));
  world.requests.length = 0;
  const model = await load();
  assert.equal((await model.run({ x: [1, 1, 1] })).y.data[0], 11);
  assert.ok(world.requests.includes(`${address} default`));
  // What the browser's own cache has damaged is asked of the server itself.
  world.kept.clear();
  world.tamper["weights/0.bin"] = (data, mode) => (mode === "default" ? flip(data) : data);
  assert.equal((await (await load()).run({ x: [1, 1, 1] })).y.data[0], 11);
});

test("files that are missing, and a server that is", async () => {
  const world = browser(addSite());
  world.offline = true;
  await assert.rejects(load(), fails(LoadError, "fetch-failed", /Failed to fetch[^]*server runs/));
  world.offline = false;
  delete world.files["weights/1.bin"];
  await assert.rejects(load(), fails(LoadError, "fetch-status", /404[^]*whole exported folder/));
});

test("works without a network once loaded, and forgets what the plan no longer names", async () => {
  const world = browser(addSite());
  await load();
  world.offline = true;
  const model = await load();
  assert.equal((await model.run({ x: [1, 1, 1] })).y.data[0], 11);
  await assert.rejects(load({ cache: false }), fails(LoadError, "fetch-failed"));
  world.offline = false;
  const [kept] = world.kept.values();
  kept.set("http://localhost/site/weights/old.bin", Buffer.alloc(4));
  await load();
  assert.ok(!kept.has("http://localhost/site/weights/old.bin"));
  assert.equal(kept.size, 4);
});

test("without room for a copy the model runs", async () => {
  const world = browser(addSite());
  world.noRoom = true;
  assert.equal((await (await load()).run({ x: [1, 1, 1] })).y.data[0], 11);
});

test("loading can be stopped", async () => {
  const world = browser(addSite());
  world.tamper["weights/0.bin"] = () => "stall";
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(load({ signal: stop.signal }), fails(LoadError, "load-stopped"));
});

test("pages, browsers and GPUs that cannot run it", async () => {
  const cases = [
    [() => (globalThis.location.protocol = "file:"), UnsupportedError, "page-from-file", /http.server/],
    [() => (globalThis.isSecureContext = false), UnsupportedError, "page-insecure", /https/],
    [() => (globalThis.navigator.gpu = undefined), UnsupportedError, "webgpu-missing", /Chrome/],
    [(world) => (world.adapter = null), DeviceError, "webgpu-adapter", /hardware acceleration/],
    [(world) => (world.noDevice = true), DeviceError, "webgpu-device", /no device/],
  ];
  for (const [spoil, kind, code, pattern] of cases) {
    spoil(browser(addSite()));
    await assert.rejects(load(), fails(kind, code, pattern));
  }
});

test("features and limits that the model needs", async () => {
  const cases = [
    [{ features: ["shader-f16"] }, {}, "webgpu-feature", /shader-f16/],
    [{}, { maxStorageBuffersPerShaderStage: 2 }, "webgpu-bindings", /binds 2/],
    [{}, { maxComputeInvocationsPerWorkgroup: 32 }, "webgpu-threads", /32/],
    [{}, { maxBufferSize: 8 }, "webgpu-binding", /'buffer 0' has 12 bytes[^]*at most/],
    [{}, { maxStorageBufferBindingSize: 8 }, "webgpu-binding", /'buffer 0' has 12 bytes[^]*a GPU of tests/],
  ];
  for (const [plan, limits, code, pattern] of cases) {
    browser(addSite(plan), { limits });
    await assert.rejects(load(), fails(UnsupportedError, code, pattern));
  }
});

test("a GPU that runs out of memory, or refuses something", async () => {
  const world = browser(addSite());
  world.deviceIs = { fail: { buffer: new GPUOutOfMemoryError("") } };
  await assert.rejects(load(), fails(DeviceError, "webgpu-memory", /smaller inputs/));
  world.deviceIs = { fail: { buffer: new GPUValidationError("usage") } };
  await assert.rejects(load(), fails(DeviceError, "webgpu-validation", /usage/));
});

test("a kernel that the browser refuses is named, with what it says", async () => {
  const files = addSite();
  const text = ADD.replace("function", "syntax(); function");
  const plan = JSON.parse(files["plan.json"]);
  browser(site({ ...plan }, { broken: text }, [files["weights/0.bin"], files["weights/1.bin"]]));
  await assert.rejects(load(), fails(DeviceError, "webgpu-validation", /'broken' \(node 0\)[^]*1:2 it does/));
});

test("a GPU that is lost in a call, and calls after it", async () => {
  const world = browser(addSite());
  const model = await load();
  const [device] = world.devices;
  device.stuck = true;
  const calls = [model.run({ x: [1, 1, 1] }), model.run({ x: [2, 2, 2] })];
  setTimeout(() => device.lose("unknown", "the driver was reset"), 20);
  for (const call of calls) {
    await assert.rejects(call, fails(DeviceError, "webgpu-lost", /driver was reset[^]*load the model again/));
  }
  await assert.rejects(model.run({ x: [1, 1, 1] }), fails(DeviceError, "webgpu-lost"));
  await assert.rejects(model.profile({ x: [1, 1, 1] }), fails(DeviceError, "webgpu-lost"));
  assert.equal((await (await load()).run({ x: [1, 1, 1] })).y.data[0], 11);
});

test("a GPU that is lost while weights are on their way", async () => {
  const world = browser(addSite());
  world.tamper["weights/0.bin"] = () => "stall";
  setTimeout(() => world.devices[0].lose(), 20);
  await assert.rejects(load(), fails(DeviceError, "webgpu-lost"));
});

test("a model that was closed", async () => {
  browser(addSite());
  const model = await load();
  model.destroy();
  await assert.rejects(model.run({ x: [1, 1, 1] }), fails(DeviceError, "webgpu-lost", /was closed/));
});

test("outputs without elements", async () => {
  browser(site({
    inputs: [port("x", 0, "float32", [0, 4])], outputs: [port("y", 0, "float32", [0, 4])],
    buffers: buffers(4), steps: [],
  }, {}));
  const model = await load();
  assert.deepEqual((await model.run({ x: [] })).y.data, new Float32Array(0));
});
