// SPDX-License-Identifier: MIT OR Apache-2.0
/** Measures the steps of a call. */

/** What one kernel of a call took. */
export interface StepTime {
  kernel: string;
  kind: string;
  nodes: string[];
  /** Nanoseconds after the first step began. */
  start: number;
  nanoseconds: number;
}

export interface Interval {
  start: number;
  nanoseconds: number;
}

/** Timestamps that a GPU takes at the ends of passes. Browsers round them, to 0.1 ms in Chrome. */
export class Clock {
  /** Steps that one set of queries has room for. */
  static readonly MOST = 2048;
  private readonly queries: GPUQuerySet;
  private readonly resolved: GPUBuffer;
  private readonly read_: GPUBuffer;

  constructor(device: GPUDevice, private readonly steps: number) {
    const size = Math.max(16 * steps, 16);
    this.queries = device.createQuerySet({ type: "timestamp", count: Math.max(2 * steps, 2) });
    this.resolved = device.createBuffer({ size, usage: 0x204 }); // queries resolved, copied from
    this.read_ = device.createBuffer({ size, usage: 9 });
  }

  /** Return what a pass of a step is told, which may be the first or the last of it. */
  pass(step: number, first: boolean, last: boolean): GPUComputePassDescriptor {
    if (!first && !last) return {};
    const timestampWrites: GPUComputePassTimestampWrites = {
      querySet: this.queries,
      ...(first && { beginningOfPassWriteIndex: 2 * step }),
      ...(last && { endOfPassWriteIndex: 2 * step + 1 }),
    };
    return { timestampWrites };
  }

  resolve(encoder: GPUCommandEncoder): void {
    if (!this.steps) return;
    encoder.resolveQuerySet(this.queries, 0, 2 * this.steps, this.resolved, 0);
    encoder.copyBufferToBuffer(this.resolved, 0, this.read_, 0, 16 * this.steps);
  }

  /** Return the times of all steps, once they are done. */
  async read(): Promise<Interval[]> {
    await this.read_.mapAsync(1);
    const ticks = new BigUint64Array(this.read_.getMappedRange().slice(0));
    for (const each of [this.queries, this.resolved, this.read_]) each.destroy();
    const origin = ticks[0] ?? 0n;
    return Array.from({ length: this.steps }, (_, step) => {
      const [begin, end] = [ticks[2 * step]!, ticks[2 * step + 1]!];
      return { start: Number(begin - origin), nanoseconds: Math.max(Number(end - begin), 0) };
    });
  }
}

/** Run steps one by one and wait for each, where the GPU does not measure itself. */
export async function timeWithoutQueries(
  device: GPUDevice,
  numbers: readonly number[],
  encode: (encoder: GPUCommandEncoder, number: number) => void,
): Promise<Interval[]> {
  const found: Interval[] = [];
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
