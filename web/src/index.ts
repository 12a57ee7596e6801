// SPDX-License-Identifier: MIT OR Apache-2.0
/** Loads models that `xyntra compile --target webgpu --emit web` wrote. */

import { checkPage, named, openDevice, type OpenDevice } from "./device.ts";
import { Files } from "./files.ts";
import { Model } from "./model.ts";
import { makeDispatches } from "./pipelines.ts";
import { parsePlan, type Plan } from "./plan.ts";
import { uploadWeights } from "./weights.ts";

export { DeviceError, InputError, LoadError, UnsupportedError, XyntraError } from "./errors.ts";
export { Model, type PortInfo, type Profile } from "./model.ts";
export type { DType, Tensor, TensorLike, TypedArray } from "./tensors.ts";
export type { StepTime } from "./timing.ts";

/** How far loading has come. */
export interface Progress {
  /** Bytes of weights. */
  loaded: number;
  bytes: number;
  /** Pipelines that the browser has compiled. */
  compiled: number;
  pipelines: number;
}

export interface LoadOptions {
  onProgress?: (progress: Progress) => void;
  /** Stops loading. */
  signal?: AbortSignal;
  /** Whether files are kept in the browser for when there is no network; the default is yes. */
  cache?: boolean;
  /** Seconds without a byte from the server after which loading fails; 60 by default. */
  patience?: number;
  powerPreference?: GPUPowerPreference;
}

/**
 * Load a model from an exported folder.
 *
 * @param url of the folder, or of a file in it, beside the page's own address.
 * @throws UnsupportedError the page, the browser or the GPU cannot run it.
 * @throws LoadError a file did not come, or is damaged.
 * @throws DeviceError there is no GPU, or it failed.
 */
async function load(url: string | URL, options: LoadOptions = {}): Promise<Model> {
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

async function loaded(
  files: Files,
  plan: Plan,
  opened: OpenDevice,
  onProgress: LoadOptions["onProgress"],
): Promise<Model> {
  const { device } = opened;
  const entries = plan.steps.flatMap((step) => step.launches.map((l) => `${step.kernel} ${l.entry}`));
  const bytes = plan.chunks.reduce((sum, each) => sum + each.nbytes, 0);
  const progress: Progress = { loaded: 0, bytes, compiled: 0, pipelines: new Set(entries).size };
  const report = (): void => onProgress?.({ ...progress });
  report();
  // 140: bound to kernels, copied from, copied into
  const buffers = await named(opened, "loading the model", "", () =>
    plan.buffers.map(({ nbytes }) => device.createBuffer({ size: nbytes, usage: 140 })));
  const shaders = await files.contents(plan.shaders, () => undefined);
  const [dispatches] = await Promise.all([
    makeDispatches(opened, plan, shaders, buffers, (made) => {
      progress.compiled = made;
      report();
    }),
    Promise.race([opened.lost, uploadWeights(files, plan, device.queue, buffers, (nbytes) => {
      progress.loaded = nbytes;
      report();
    })]),
  ]);
  const model = new Model(plan, opened, buffers, dispatches);
  await model.prepare();
  await files.prune(["plan.json", plan.shaders.file, ...plan.chunks.map((each) => each.file)]);
  return model;
}

export const Xyntra = { load };
export default Xyntra;
