// SPDX-License-Identifier: MIT OR Apache-2.0
/** Opens the GPU, and names what is missing or goes wrong. */

import { DeviceError, type ErrorDetails, textOf, UnsupportedError, within, XyntraError } from "./errors.ts";
import type { Plan } from "./plan.ts";

const PATIENCE = 30_000; // milliseconds for an adapter or a device
const BROWSERS = "use a current Chrome, Edge, Safari or Firefox";

/** A GPU that can be used. */
export interface OpenDevice {
  device: GPUDevice;
  /** What the browser tells of the adapter. */
  name: string;
  hasTimes: boolean;
  /** Rejects when the device is lost, with the error to show. */
  lost: Promise<never>;
}

/**
 * See whether a page can run models at all.
 *
 * @throws UnsupportedError `page-from-file`, `page-insecure` or `webgpu-missing`.
 */
export function checkPage(): void {
  const { location, isSecureContext, navigator } = globalThis;
  if (location?.protocol === "file:") {
    throw new UnsupportedError("page-from-file", "this page was opened as a file", {
      because: "browsers do not let such a page fetch the model that lies beside it",
      hint: "serve the folder and open the address that is printed: python -m http.server",
    });
  }
  if (isSecureContext === false) {
    throw new UnsupportedError("page-insecure", "this page was not loaded safely", {
      because: "browsers have WebGPU on https:// and on localhost only",
      hint: "open it by https://, or by http://localhost on the machine of the server",
    });
  }
  if (!navigator?.gpu) {
    throw new UnsupportedError("webgpu-missing", "this browser has no WebGPU", {
      because: "there is no navigator.gpu here",
      hint: `${BROWSERS}; on Linux, WebGPU may have to be turned on in its settings`,
    });
  }
}

/**
 * Open the GPU for a plan.
 *
 * @throws DeviceError `webgpu-adapter` or `webgpu-device`.
 * @throws UnsupportedError it lacks a feature, or binds too little.
 */
export async function openDevice(plan: Plan, power?: GPUPowerPreference): Promise<OpenDevice> {
  const adapter = await requestAdapter(power);
  checkAdapter(adapter, plan);
  const hasTimes = adapter.features.has("timestamp-query");
  const features = [...plan.features, ...(hasTimes ? ["timestamp-query"] : [])];
  const largest = plan.buffers.reduce((most, each) => Math.max(most, each.nbytes), 0);
  const launches = plan.steps.flatMap((step) => step.launches);
  const bound = launches.flatMap((each) => each.ranges.map(([, nbytes]) => nbytes));
  const most = bound.reduce((largest, each) => Math.max(largest, each), 0);
  const { limits } = adapter;
  const requiredLimits: Record<string, number> = {
    maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
    maxStorageBuffersPerShaderStage: Math.max(plan.bindings, 8),
    maxComputeInvocationsPerWorkgroup: Math.max(plan.threads, 256),
    maxComputeWorkgroupSizeX: Math.max(plan.threads, 256),
    maxStorageBufferBindingSize: Math.max(most, 128 << 20),
    maxBufferSize: Math.max(largest, 256 << 20),
  };
  for (const [name, wanted] of Object.entries(requiredLimits)) {
    const offered = limits[name as keyof GPUSupportedLimits] as number;
    requiredLimits[name] = Math.min(wanted, offered);
  }
  const requiredFeatures = features as GPUFeatureName[];
  let device: GPUDevice;
  try {
    const request = adapter.requestDevice({ requiredFeatures, requiredLimits });
    device = await within(request, PATIENCE, () => unanswered("open the GPU"));
  } catch (error) {
    if (error instanceof XyntraError) throw error;
    throw new DeviceError("webgpu-device", "the GPU cannot be opened", {
      because: textOf(error),
      hint: "close other pages that use the GPU, or restart the browser",
    });
  }
  return { device, name: nameOf(adapter), hasTimes, lost: lossOf(device) };
}

async function requestAdapter(power?: GPUPowerPreference): Promise<GPUAdapter> {
  let adapter: GPUAdapter | null;
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
    hint: "turn on hardware acceleration in the browser's settings, and update the GPU's driver",
  });
}

function unanswered(what: string): DeviceError {
  return new DeviceError("webgpu-device", `the browser did not ${what}`, {
    because: `nothing happened for ${PATIENCE / 1000} seconds`,
    hint: "restart the browser",
  });
}

function checkAdapter(adapter: GPUAdapter, plan: Plan): void {
  const name = nameOf(adapter);
  const other = `the limit is that of ${name}: use a device with another GPU`;
  const missing = plan.features.filter((each) => !adapter.features.has(each));
  if (missing.length) {
    throw new UnsupportedError("webgpu-feature", `the GPU has no ${missing.join(", ")}`, {
      because: "the model's kernels were compiled to use it",
      hint: "compile the model for every adapter, or use a device with another GPU",
    });
  }
  const { limits } = adapter;
  if (plan.bindings > limits.maxStorageBuffersPerShaderStage) {
    throw new UnsupportedError("webgpu-bindings", `a kernel needs ${plan.bindings} buffers`, {
      because: `the GPU binds ${limits.maxStorageBuffersPerShaderStage} at once`,
      hint: other,
    });
  }
  if (plan.threads > limits.maxComputeInvocationsPerWorkgroup) {
    throw new UnsupportedError("webgpu-threads", `a kernel has workgroups of ${plan.threads}`, {
      because: `the GPU has ${limits.maxComputeInvocationsPerWorkgroup} invocations at most`,
      hint: other,
    });
  }
  const large = plan.buffers.find((each) => each.nbytes > limits.maxBufferSize);
  if (large) {
    throw new UnsupportedError("webgpu-binding", `'${large.what}' has ${large.nbytes} bytes`, {
      because: `a buffer of the GPU has ${limits.maxBufferSize} at most`,
      hint: other,
    });
  }
  for (const { buffers, ranges } of plan.steps.flatMap((step) => step.launches)) {
    const wide = ranges.findIndex(([, nbytes]) => nbytes > limits.maxStorageBufferBindingSize);
    if (wide < 0) continue;
    const what = plan.buffers[buffers[wide]!]!.what;
    throw new UnsupportedError("webgpu-binding", `'${what}' has ${ranges[wide]![1]} bytes`, {
      because: `the GPU binds ${limits.maxStorageBufferBindingSize} bytes at once`,
      hint: other,
    });
  }
}

function nameOf(adapter: GPUAdapter): string {
  const { description, vendor, architecture } = adapter.info ?? {};
  return description || [vendor, architecture].filter(Boolean).join(" ") || "the GPU";
}

function lossOf(device: GPUDevice): Promise<never> {
  const lost = device.lost.then((info): never => {
    const asked = info.reason === "destroyed";
    throw new DeviceError("webgpu-lost", asked ? "the model was closed" : "the GPU was lost", {
      because: info.message || "the browser does not say why",
      hint: "load the model again: its files are kept",
    });
  });
  lost.catch(() => undefined); // Calls race with it; without a call nobody has to hear of it.
  return lost;
}

/**
 * Do something on a device and wait for its errors, which come apart from results.
 *
 * @param during what is done, for messages.
 * @param place the kernel that it is about.
 * @throws DeviceError `webgpu-memory`, `webgpu-validation`, `webgpu-failed` or `webgpu-lost`.
 */
export async function named<T>(
  opened: OpenDevice,
  during: string,
  place: string,
  work: () => T | Promise<T>,
): Promise<Awaited<T>> {
  const { device } = opened;
  for (const filter of ["validation", "internal", "out-of-memory"] as const) {
    device.pushErrorScope(filter);
  }
  // Scopes are a stack: they are popped before anything else may push others.
  let result: T | Promise<T> | undefined;
  let thrown: unknown;
  try {
    result = work();
  } catch (error) {
    thrown = error;
  }
  const scopes = [device.popErrorScope(), device.popErrorScope(), device.popErrorScope()];
  const whole = (async () => {
    const [outcome, ...errors] = await Promise.allSettled([result, ...scopes]);
    for (const found of errors) {
      if (found.status === "fulfilled" && found.value) throw found.value;
    }
    if (thrown !== undefined) throw thrown;
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value as Awaited<T>;
  })();
  try {
    return await Promise.race([whole, opened.lost]);
  } catch (error) {
    throw error instanceof XyntraError ? error : await deviceError(opened, error, during, place);
  }
}

async function deviceError(
  opened: OpenDevice,
  error: unknown,
  during: string,
  place: string,
): Promise<XyntraError> {
  // Of a device that is lost, the loss is told, and not what it led to.
  const soon = new Promise<undefined>((resolve) => setTimeout(resolve, 100));
  try {
    await Promise.race([opened.lost, soon]);
  } catch (loss) {
    return loss as XyntraError;
  }
  const details: ErrorDetails = { because: textOf(error), ...(place && { place }) };
  const kind = (error as object)?.constructor?.name ?? "";
  if (kind === "GPUOutOfMemoryError" || /out of memory/i.test(details.because ?? "")) {
    details.hint = "close other pages that use the GPU, or give the model smaller inputs";
    return new DeviceError("webgpu-memory", `the GPU ran out of memory while ${during}`, details);
  }
  const refused = kind === "GPUValidationError" ||
    (kind === "GPUPipelineError" && (error as GPUPipelineError).reason === "validation");
  if (refused) {
    details.hint = "please report this with the model";
    return new DeviceError("webgpu-validation", `the browser refused something while ${during}`, details);
  }
  details.hint = "load the model again";
  return new DeviceError("webgpu-failed", `the GPU failed while ${during}`, details);
}
