// SPDX-License-Identifier: MIT OR Apache-2.0
/** What Magika reads of a file, and what its answer means. */

const WINDOW = 1024; // bytes from either end
const BLOCK = 4096; // bytes from which white space is taken off
const PADDING = 256; // stands for "past the end"
const SPACES = new Set([9, 10, 11, 12, 13, 32]);

/** Return the numbers that the model takes, or undefined where a file has too few bytes. */
export async function features(file, least) {
  const head = new Uint8Array(await file.slice(0, BLOCK).arrayBuffer());
  const tail = new Uint8Array(await file.slice(Math.max(file.size - BLOCK, 0)).arrayBuffer());
  let start = 0;
  while (start < head.length && SPACES.has(head[start])) start++;
  let end = tail.length;
  while (end > 0 && SPACES.has(tail[end - 1])) end--;
  if (head.length - start < least) return undefined;
  const found = new Int32Array(2 * WINDOW).fill(PADDING);
  found.set(head.subarray(start, start + WINDOW));
  const last = tail.subarray(Math.max(end - WINDOW, 0), end);
  found.set(last, 2 * WINDOW - last.length);
  return found;
}

/** Return what a file too small for the model is: text where it is UTF-8. */
export async function fewBytes(file) {
  if (file.size === 0) return "empty";
  const head = await file.slice(0, BLOCK).arrayBuffer();
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head);
    return "txt";
  } catch {
    return "unknown";
  }
}

/** Return the label for the scores of the model, which is a general one where they are low. */
export function labelOf(scores, types) {
  let best = 0;
  for (let index = 1; index < scores.length; index++) if (scores[index] > scores[best]) best = index;
  const guess = types.labels[best];
  const label = types.overwrites[guess] ?? guess;
  const sure = scores[best] >= (types.thresholds[guess] ?? types.threshold);
  return sure ? label : types.meanings[label].text ? "txt" : "unknown";
}

/** Return the likeliest labels with their scores. */
export function likeliest(scores, types, count) {
  const order = [...scores.keys()].sort((one, other) => scores[other] - scores[one]);
  return order.slice(0, count).map((index) => ({ label: types.labels[index], score: scores[index] }));
}
