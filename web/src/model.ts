// SPDX-License-Identifier: MIT OR Apache-2.0
/** A model on a GPU, and its calls. */

import { named, type OpenDevice } from "./device.ts";
import { InputError } from "./errors.ts";
import type { Dispatch } from "./pipelines.ts";
import type { Plan, Port } from "./plan.ts";
import { BYTES, bytesOf, elements, type Tensor, type TensorLike, tensorOf } from "./tensors.ts";
import { Clock, type StepTime, timeWithoutQueries } from "./timing.ts";

/** An input or output: its name, type and shape. */
export interface PortInfo {
  name: string;
  dtype: Port["dtype"];
  shape: readonly number[];
}

/** The results of a call and what its steps took. */
export interface Profile {
  outputs: Record<string, Tensor>;
  steps: StepTime[];
  /** Whether the GPU measured itself; if not, each step was waited for. */
  exact: boolean;
}

interface Result {
  port: Port;
  offset: number;
  nbytes: number;
}

/** A loaded model. Calls run one after the other, in the order that they were made. */
export class Model {
  private readonly results: Result[];
  private readonly staging: GPUBuffer;
  private last: Promise<unknown> = Promise.resolve();

  /** Use `Xyntra.load`. */
  constructor(
    private readonly plan: Plan,
    private readonly opened: OpenDevice,
    private readonly buffers: readonly GPUBuffer[],
    private readonly dispatches: readonly Dispatch[][],
  ) {
    let offset = 0;
    const ports = [...plan.outputs, ...plan.requirements.map((each) => each.flag)];
    this.results = ports.map((port) => {
      const nbytes = wholeWords(elements(port.shape) * BYTES[port.dtype]);
      const result = { port, offset, nbytes };
      offset += Math.ceil(nbytes / 8) * 8;
      return result;
    });
    // 9: to be read by the host, and copied into
    this.staging = opened.device.createBuffer({ size: Math.max(offset, 8), usage: 9 });
  }

  /** The name of the model. */
  get name(): string {
    return this.plan.name;
  }

  get inputs(): PortInfo[] {
    return this.plan.inputs.map(info);
  }

  get outputs(): PortInfo[] {
    return this.plan.outputs.map(info);
  }

  /** The kernels of a call, in order. */
  get kernels(): { name: string; kind: string; nodes: string[] }[] {
    return this.plan.steps.filter((step) => !step.once).map((step) => {
      const { name, kind } = this.plan.kernels[step.kernel]!;
      return { name, kind, nodes: [...step.nodes] };
    });
  }

  /** What the browser tells of the GPU. */
  get adapter(): string {
    return this.opened.name;
  }

  /** The GPU; a page may look at it, and should leave it as it is. */
  get device(): GPUDevice {
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
  async run(inputs: Record<string, TensorLike>): Promise<Record<string, Tensor>> {
    const given = this.arranged(inputs);
    return this.queued(() => this.call(given));
  }

  /** Run the model and measure every step; slower than `run`. */
  async profile(inputs: Record<string, TensorLike>): Promise<Profile> {
    const given = this.arranged(inputs);
    return this.queued(() => this.measured(given));
  }

  /** Compute what depends on weights alone. */
  async prepare(): Promise<void> {
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
  destroy(): void {
    this.device.destroy();
  }

  private queued<T>(work: () => Promise<T>): Promise<T> {
    const next = this.last.then(work);
    this.last = next.catch(() => undefined);
    return next;
  }

  private arranged(inputs: Record<string, TensorLike>): Uint8Array<ArrayBuffer>[] {
    const known = this.plan.inputs.map((port) => port.name);
    const hint = `the inputs are ${known.map((name) => `'${name}'`).join(", ") || "none"}`;
    for (const name of Object.keys(inputs ?? {})) {
      if (!known.includes(name)) {
        throw new InputError("input-unknown", `there is no input '${name}'`, { hint });
      }
    }
    return this.plan.inputs.map((port) => {
      const given = inputs && Object.hasOwn(inputs, port.name) ? inputs[port.name] : undefined;
      if (given === undefined) {
        throw new InputError("input-missing", `input '${port.name}' is missing`, { hint });
      }
      return bytesOf(port, given);
    });
  }

  private numbers(once: boolean): number[] {
    return [...this.plan.steps.keys()].filter((number) => this.plan.steps[number]!.once === once);
  }

  private async call(given: Uint8Array<ArrayBuffer>[]): Promise<Record<string, Tensor>> {
    return named(this.opened, "running the model", "", () => {
      this.upload(given);
      const encoder = this.device.createCommandEncoder();
      this.encode(encoder, this.numbers(false));
      this.encodeResults(encoder);
      this.device.queue.submit([encoder.finish()]);
      return this.download();
    });
  }

  private async measured(given: Uint8Array<ArrayBuffer>[]): Promise<Profile> {
    const { device, opened, plan } = this;
    const numbers = this.numbers(false);
    const steps = numbers.map((number) => plan.steps[number]!);
    const names = steps.map((step) => plan.kernels[step.kernel]!);
    return named(opened, "running the model", "", async () => {
      this.upload(given);
      let times: { start: number; nanoseconds: number }[];
      const clock = opened.hasTimes && numbers.length <= Clock.MOST
        ? new Clock(device, numbers.length)
        : undefined;
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
      times = clock ? await clock.read() : times!;
      const found = times.map((time, index) => {
        const { name, kind } = names[index]!;
        return { kernel: name, kind, nodes: [...steps[index]!.nodes], ...time };
      });
      return { outputs, steps: found, exact: clock !== undefined };
    });
  }

  /** Encode steps; copies between launches are made outside of passes. */
  private encode(encoder: GPUCommandEncoder, numbers: number[], clock?: Clock, index = 0): void {
    const all = numbers.flatMap((number) => this.dispatches[number]!);
    const begins = all.map((each, place) => place === 0 || each.copies.length > 0);
    const last = begins.lastIndexOf(true);
    let pass: GPUComputePassEncoder | undefined;
    all.forEach((each, place) => {
      if (begins[place]) {
        pass?.end();
        for (const [source, destination, offset, nbytes] of each.copies) {
          const [from, to] = [this.buffers[source]!, this.buffers[destination]!];
          encoder.copyBufferToBuffer(from, 0, to, offset, nbytes);
        }
        pass = encoder.beginComputePass(clock?.pass(index, place === 0, place === last) ?? {});
      }
      pass!.setPipeline(each.pipeline);
      pass!.setBindGroup(0, each.bindings);
      pass!.dispatchWorkgroups(...each.grid);
    });
    pass?.end();
  }

  private upload(given: Uint8Array<ArrayBuffer>[]): void {
    this.plan.inputs.forEach((port, index) => {
      const bytes = given[index]!;
      if (bytes.length) this.device.queue.writeBuffer(this.buffers[port.buffer]!, 0, bytes);
    });
  }

  private encodeResults(encoder: GPUCommandEncoder): void {
    for (const { port, offset, nbytes } of this.results) {
      const source = this.buffers[port.buffer]!;
      if (nbytes) encoder.copyBufferToBuffer(source, 0, this.staging, offset, nbytes);
    }
  }

  private async download(): Promise<Record<string, Tensor>> {
    await this.staging.mapAsync(1); // 1: to be read
    let tensors: Tensor[];
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
      if (tensors[count + index]!.data[0]) return;
      const { code, message, place, cause, hint } = each;
      throw new InputError(code, message, {
        ...(place && { place }), ...(cause && { because: cause }), ...(hint && { hint }),
      });
    });
    return Object.fromEntries(this.plan.outputs.map((port, index) => [port.name, tensors[index]!]));
  }
}

function info({ name, dtype, shape }: Port): PortInfo {
  return { name, dtype, shape: [...shape] };
}

function wholeWords(nbytes: number): number {
  return Math.ceil(nbytes / 4) * 4;
}
