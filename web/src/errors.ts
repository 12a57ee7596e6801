// SPDX-License-Identifier: MIT OR Apache-2.0
/** The errors a user meets, each with a code, a place, a cause and a hint. */

export interface ErrorDetails {
  /** Where it happened: a file, a kernel, an input. */
  place?: string;
  /** The reason behind it. */
  because?: string;
  /** What to try. */
  hint?: string;
}

/** What went wrong, where, why, and what can be done about it. */
export class XyntraError extends Error {
  /** A stable identifier that programs may compare with. */
  readonly code: string;
  readonly place: string;
  readonly because: string;
  readonly hint: string;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.place = details.place ?? "";
    this.because = details.because ?? "";
    this.hint = details.hint ?? "";
  }

  /** The error as a few lines of text. */
  override toString(): string {
    const lines = [`${this.name} [${this.code}]: ${this.message}`];
    if (this.place) lines.push(`  at: ${this.place}`);
    if (this.because) lines.push(`  because: ${this.because}`);
    if (this.hint) lines.push(`  try: ${this.hint}`);
    return lines.join("\n");
  }
}

/** The browser, or its GPU, does not have what the model needs. */
export class UnsupportedError extends XyntraError {}
/** A file of the model did not come, or is not what was written. */
export class LoadError extends XyntraError {}
/** An array given to a call has the wrong name, size, type or value. */
export class InputError extends XyntraError {}
/** The GPU is missing, was lost, or failed. */
export class DeviceError extends XyntraError {}

/** Return what was thrown as text. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
}

/**
 * Return what `work` gives, or fail after some time: no browser promises to answer.
 *
 * @param milliseconds how long is waited.
 * @param late makes the error.
 */
export async function within<T>(
  work: Promise<T>,
  milliseconds: number,
  late: () => XyntraError,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
