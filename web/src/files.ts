// SPDX-License-Identifier: MIT OR Apache-2.0
/** Fetches the files of a model, checks them, and keeps them for when there is no network. */

import { LoadError, textOf, within } from "./errors.ts";
import type { ModelFile } from "./plan.ts";

export interface FileOptions {
  /** Whether files are kept in the browser's Cache; the default is yes. */
  cache: boolean;
  /** Seconds without a byte after which fetching fails. */
  patience: number;
  signal: AbortSignal | undefined;
}

/** Where files come from. What was kept has been checked, and is checked again. */
export class Files {
  private kept: Promise<Cache | undefined>;
  private readonly stopping = new AbortController();

  constructor(
    private readonly base: string,
    private readonly options: FileOptions,
  ) {
    this.kept = openCache(options.cache ? `xyntra ${base}` : "");
  }

  /** Stop what is still on its way, which fails. */
  stop(): void {
    this.stopping.abort();
  }

  /** Return the address of a file. */
  address(name: string): string {
    return new URL(name, this.base).href;
  }

  /**
   * Return a text that may change: from the network, or what was kept where there is none.
   *
   * @throws LoadError it did not come.
   */
  async text(name: string): Promise<string> {
    const address = this.address(name);
    const cache = await this.kept;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = await this.fetched(address, "no-cache", 1 << 28, () => undefined);
    } catch (error) {
      const unreachable = error instanceof LoadError && error.code !== "fetch-status";
      const kept = unreachable ? await cache?.match(address) : undefined;
      if (!kept) throw error;
      return kept.text();
    }
    await keep(cache, address, bytes);
    return new TextDecoder().decode(bytes);
  }

  /**
   * Return a file whose name stands for its contents.
   *
   * @param file what is expected.
   * @param progress is told the bytes that came; a smaller number where they are fetched again.
   * @throws LoadError it did not come, or is damaged.
   */
  async contents(
    file: ModelFile,
    progress: (nbytes: number) => void,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const address = this.address(file.file);
    const cache = await this.kept;
    const kept = await cache?.match(address);
    if (kept) {
      const bytes = new Uint8Array(await kept.arrayBuffer());
      if ((await wrong(file, bytes)) === "") {
        progress(bytes.length);
        return bytes;
      }
      await cache?.delete(address);
    }
    // What the browser itself has kept may be damaged: the second time it is not asked.
    let because = "";
    for (const mode of ["default", "reload"] as const) {
      const bytes = await this.fetched(address, mode, file.nbytes, progress);
      because = await wrong(file, bytes);
      if (because === "") {
        await keep(cache, address, bytes);
        return bytes;
      }
      progress(0);
    }
    throw new LoadError("file-damaged", "a file of the model is damaged", {
      place: address,
      because,
      hint: "copy the exported folder to the server again; export the model again if that is no help",
    });
  }

  /** Forget kept files that the plan no longer names. */
  async prune(names: readonly string[]): Promise<void> {
    const wanted = new Set(names.map((name) => this.address(name)));
    try {
      const cache = await this.kept;
      for (const request of (await cache?.keys()) ?? []) {
        if (!wanted.has(request.url)) await cache?.delete(request);
      }
    } catch {
      // What cannot be forgotten takes room, and nothing else.
    }
  }

  /** Return what the server sends: at most one byte more than `most`. */
  private async fetched(
    address: string,
    cache: RequestCache,
    most: number,
    progress: (nbytes: number) => void,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const done = new AbortController();
    const given = this.options.signal;
    const signal = AbortSignal.any([done.signal, this.stopping.signal, ...(given ? [given] : [])]);
    try {
      const response = await this.patiently(fetch(address, { cache, signal }), address);
      if (!response.ok) throw missing(address, response.status);
      return await this.body(response, address, most, progress);
    } catch (error) {
      if (given?.aborted) throw new LoadError("load-stopped", "loading was stopped", {});
      if (error instanceof LoadError) throw error;
      throw new LoadError("fetch-failed", "a file of the model could not be fetched", {
        place: address,
        because: textOf(error),
        hint: "look whether the server runs and the network is there, then load the page again",
      });
    } finally {
      done.abort(); // of what stalled
    }
  }

  private async body(
    response: Response,
    address: string,
    most: number,
    progress: (nbytes: number) => void,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array[] = [];
    let nbytes = 0;
    const reader = response.body?.getReader();
    while (reader && nbytes <= most) {
      const { done, value } = await this.patiently(reader.read(), address);
      if (done) break;
      parts.push(value);
      nbytes += value.length;
      progress(Math.min(nbytes, most));
    }
    const whole = new Uint8Array(nbytes);
    let place = 0;
    for (const part of parts) {
      whole.set(part, place);
      place += part.length;
    }
    return whole;
  }

  private patiently<T>(work: Promise<T>, address: string): Promise<T> {
    const { patience } = this.options;
    return within(work, 1000 * patience, () => {
      return new LoadError("fetch-stalled", "the server stopped sending a file of the model", {
        place: address,
        because: `nothing came for ${patience} seconds`,
        hint: "load the page again: what has come is kept",
      });
    });
  }
}

function missing(address: string, status: number): LoadError {
  return new LoadError("fetch-status", "the server does not have a file of the model", {
    place: address,
    because: `it answered with status ${status}`,
    hint: "copy the whole exported folder to the server, and look whether the address is right",
  });
}

/** Return what is wrong with the bytes of a file; "" for nothing. */
async function wrong(file: ModelFile, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes.length < file.nbytes) {
    return `it ends after ${bytes.length} of ${file.nbytes} bytes`;
  }
  if (bytes.length > file.nbytes) return `it has more than ${file.nbytes} bytes`;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return found === file.sha256 ? "" : `its SHA-256 is ${found}, and ${file.sha256} was written`;
}

async function openCache(name: string): Promise<Cache | undefined> {
  try {
    return name ? await caches.open(name) : undefined;
  } catch {
    return undefined; // Private windows may have none.
  }
}

async function keep(cache: Cache | undefined, address: string, bytes: BlobPart): Promise<void> {
  try {
    await cache?.put(address, new Response(new Blob([bytes])));
  } catch {
    // There is no room: the model runs, and is fetched again the next time.
  }
}
