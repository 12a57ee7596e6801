// SPDX-License-Identifier: MIT OR Apache-2.0
/** Makes the pipelines of a plan, each once. */

import { named, type OpenDevice } from "./device.ts";
import { DeviceError } from "./errors.ts";
import type { Launch, Plan } from "./plan.ts";

/** A launch ready to be encoded. */
export interface Dispatch {
  pipeline: GPUComputePipeline;
  bindings: GPUBindGroup;
  grid: [number, number];
  copies: Launch["copies"];
}

/**
 * Make what the steps of a plan launch.
 *
 * @param progress is told the pipelines that are made, and how many there are.
 * @throws DeviceError the browser refuses a kernel, which is named.
 */
export async function makeDispatches(
  opened: OpenDevice,
  plan: Plan,
  shaders: Uint8Array,
  buffers: readonly GPUBuffer[],
  progress: (made: number, all: number) => void,
): Promise<Dispatch[][]> {
  const maker = new Maker(opened, plan, shaders, progress);
  const steps = await Promise.all(
    plan.steps.map((step) => Promise.all(
      step.launches.map((launch) => maker.pipeline(step.kernel, launch)),
    )),
  );
  return named(opened, "binding buffers", "", () =>
    steps.map((pipelines, step) => pipelines.map((pipeline, number) => {
      const launch = plan.steps[step]!.launches[number]!;
      const entries = launch.buffers.map((each, binding) => {
        const [offset, size] = launch.ranges[binding]!;
        return { binding, resource: { buffer: buffers[each]!, offset, size } };
      });
      const layout = maker.layout(launch.written);
      const bindings = opened.device.createBindGroup({ layout, entries });
      return { pipeline, bindings, grid: launch.grid, copies: launch.copies };
    })));
}

class Maker {
  private modules = new Map<number, GPUShaderModule>();
  private layouts = new Map<string, GPUBindGroupLayout>();
  private pipelines = new Map<string, Promise<GPUComputePipeline>>();
  private made = 0;

  constructor(
    private readonly opened: OpenDevice,
    private readonly plan: Plan,
    private readonly shaders: Uint8Array,
    private readonly progress: (made: number, all: number) => void,
  ) {}

  /** Return the layout of so many buffers, of which some are written. */
  layout(written: readonly boolean[]): GPUBindGroupLayout {
    const key = written.join();
    let found = this.layouts.get(key);
    if (!found) {
      const entries = written.map((each, binding): GPUBindGroupLayoutEntry => {
        const type = each ? "storage" : "read-only-storage";
        return { binding, visibility: 4, buffer: { type } }; // 4: compute
      });
      found = this.opened.device.createBindGroupLayout({ entries });
      this.layouts.set(key, found);
    }
    return found;
  }

  /** Return the pipeline of a launch. */
  pipeline(kernel: number, launch: Launch): Promise<GPUComputePipeline> {
    const key = `${kernel} ${launch.entry}`;
    let found = this.pipelines.get(key);
    if (!found) {
      found = this.make(kernel, launch);
      this.pipelines.set(key, found);
    }
    return found;
  }

  private async make(kernel: number, launch: Launch): Promise<GPUComputePipeline> {
    const { device } = this.opened;
    const layouts = [this.layout(launch.written)];
    const place = this.place(kernel);
    let module = this.modules.get(kernel);
    const pipeline = await named(this.opened, "making a pipeline", place, () => {
      if (!module) {
        const { name, start, nbytes } = this.plan.kernels[kernel]!;
        const code = new TextDecoder().decode(this.shaders.subarray(start, start + nbytes));
        module = device.createShaderModule({ code, label: name });
        this.modules.set(kernel, module);
      }
      return device.createComputePipelineAsync({
        label: launch.entry,
        layout: device.createPipelineLayout({ bindGroupLayouts: layouts }),
        compute: { module, entryPoint: launch.entry },
      });
    }).catch(async (error) => {
      throw await withMessages(error, module);
    });
    this.made += 1;
    this.progress(this.made, this.pipelines.size);
    return pipeline;
  }

  private place(kernel: number): string {
    const steps = this.plan.steps.filter((step) => step.kernel === kernel);
    const nodes = [...new Set(steps.flatMap((step) => step.nodes))];
    return `kernel '${this.plan.kernels[kernel]!.name}' (${nodes.slice(0, 20).join(", ")})`;
  }
}

/** Add what the browser says of the WGSL to an error that it led to. */
async function withMessages(error: unknown, module?: GPUShaderModule): Promise<unknown> {
  if (!(error instanceof DeviceError) || error.code !== "webgpu-validation" || !module) return error;
  const info = await module.getCompilationInfo();
  const found = info.messages.filter((each) => each.type === "error");
  if (!found.length) return error;
  const because = found.map((each) => `${each.lineNum}:${each.linePos} ${each.message}`).join("\n");
  return new DeviceError(error.code, error.message, { place: error.place, because, hint: error.hint });
}
