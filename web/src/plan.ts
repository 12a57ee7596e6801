// SPDX-License-Identifier: MIT OR Apache-2.0
/** The plan of a model as `xyntra compile --emit web` writes it, and its checks. */

import { LoadError } from "./errors.ts";
import { BYTES, type DType, elements } from "./tensors.ts";

export interface Port {
  name: string;
  dtype: DType;
  shape: number[];
  /** Number of the buffer that holds it. */
  buffer: number;
}

export interface Requirement {
  /** A boolean that each call computes: whether its results mean something. */
  flag: Port;
  code: string;
  message: string;
  place?: string;
  cause?: string;
  hint?: string;
}

export interface Launch {
  entry: string;
  grid: [number, number];
  buffers: number[];
  /** First byte, and bytes, of each of these that are bound. */
  ranges: [number, number][];
  written: boolean[];
  /** Source, destination, offset in the destination, bytes: done ahead of the launch. */
  copies: [number, number, number, number][];
}

export interface Step {
  kernel: number;
  /** Names of the model's nodes that it computes. */
  nodes: string[];
  /** Whether it is computed when the model is loaded. */
  once: boolean;
  launches: Launch[];
}

export interface Kernel {
  name: string;
  kind: string;
  start: number;
  nbytes: number;
}

export interface ModelFile {
  file: string;
  nbytes: number;
  sha256: string;
}

export interface Plan {
  name: string;
  compiler: string;
  inputs: Port[];
  outputs: Port[];
  requirements: Requirement[];
  features: string[];
  bindings: number;
  threads: number;
  buffers: { nbytes: number; what: string }[];
  kernels: Kernel[];
  steps: Step[];
  shaders: ModelFile;
  chunks: ModelFile[];
  /** Buffer, offset in all chunks one after the other, bytes. */
  contents: [number, number, number][];
}

const FORMAT = "xyntra-web";
const VERSION = 1;
const FILE = /^[\w-]+(\/[\w-]+)?\.(bin|wgsl)$/;

/**
 * Read a plan and check every number that is used to address something.
 *
 * @throws LoadError `plan-invalid` or `plan-version`.
 */
export function parsePlan(text: string, place: string): Plan {
  let plan: Plan & { format?: unknown; version?: unknown };
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
      hint: "export the model and its runtime together, and clear the browser's cache",
    });
  }
  try {
    checkPlan(plan);
  } catch (error) {
    throw invalid(place, String(error));
  }
  return plan;
}

function invalid(place: string, because: string): LoadError {
  return new LoadError("plan-invalid", "the model's plan cannot be read", {
    place,
    because,
    hint: "check that the address is that of an exported folder, and export the model again",
  });
}

function checkPlan(plan: Plan): void {
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

function checkLaunch(launch: Launch, sizes: number[]): void {
  check(launch.written.length === launch.buffers.length, "a launch has other buffers");
  check(launch.buffers.every((each) => whole(each, 0, sizes.length - 1)), "a launch has no buffer");
  check(launch.ranges.length === launch.buffers.length, "a launch binds other buffers");
  launch.ranges.forEach(([start, nbytes], index) => {
    const size = sizes[launch.buffers[index]!]!;
    check(whole(nbytes, 4, size) && nbytes % 4 === 0, "a launch binds beyond a buffer");
    check(whole(start, 0, size - nbytes) && start % 256 === 0, "a launch binds beyond a buffer");
  });
  check(launch.grid.every((each) => whole(each, 0, 65535)), "a launch is too large");
  for (const [source, destination, offset, nbytes] of launch.copies) {
    check(whole(nbytes, 0, sizes[source] ?? -1), "a copy reads beyond a buffer");
    check(whole(offset, 0, (sizes[destination] ?? -1) - nbytes), "a copy writes beyond a buffer");
  }
}

function whole(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

function check(right: boolean, message: string): void {
  if (!right) throw new Error(message);
}
