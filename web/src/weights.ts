// SPDX-License-Identifier: MIT OR Apache-2.0
/** Brings weights into the buffers of a GPU, chunk by chunk. */

import type { Files } from "./files.ts";
import type { Plan } from "./plan.ts";

const AT_ONCE = 3;

/**
 * Fetch all chunks and write them into buffers.
 *
 * @param progress is told the bytes that have come.
 * @throws LoadError a chunk did not come, or is damaged.
 */
export async function uploadWeights(
  files: Files,
  plan: Plan,
  queue: GPUQueue,
  buffers: readonly GPUBuffer[],
  progress: (nbytes: number) => void,
): Promise<void> {
  const starts: number[] = [];
  let total = 0;
  for (const chunk of plan.chunks) {
    starts.push(total);
    total += chunk.nbytes;
  }
  const loaded = plan.chunks.map(() => 0);
  const waiting = [...plan.chunks.keys()];
  let failed = false;
  const work = async (): Promise<void> => {
    for (let number = waiting.shift(); number !== undefined && !failed; number = waiting.shift()) {
      const bytes = await files.contents(plan.chunks[number]!, (nbytes) => {
        loaded[number!] = nbytes;
        progress(loaded.reduce((sum, each) => sum + each, 0));
      });
      write(plan, queue, buffers, bytes, starts[number]!);
    }
  };
  const workers = Array.from({ length: AT_ONCE }, work);
  await Promise.all(workers).catch((error) => {
    failed = true;
    throw error;
  });
}

/** Write the part of every buffer that lies in a chunk. */
function write(
  plan: Plan,
  queue: GPUQueue,
  buffers: readonly GPUBuffer[],
  chunk: Uint8Array<ArrayBuffer>,
  start: number,
): void {
  for (const [buffer, offset, nbytes] of plan.contents) {
    const first = Math.max(offset, start);
    const end = Math.min(offset + nbytes, start + chunk.length);
    if (first < end) {
      const part = chunk.subarray(first - start, end - start);
      queue.writeBuffer(buffers[buffer]!, first - offset, part);
    }
  }
}
