// SPDX-License-Identifier: MIT OR Apache-2.0
/** Reads and writes arrays in numpy's .npy format. */

import type { DType, Tensor, TypedArray } from "../index.ts";

type Kind = new (buffer: ArrayBuffer) => TypedArray;
const KINDS: Record<string, Kind> = {
  "|b1": Uint8Array, "|u1": Uint8Array, "|i1": Int8Array, "<i2": Int16Array, "<u2": Uint16Array,
  "<f2": Uint16Array, "<i4": Int32Array, "<u4": Uint32Array, "<i8": BigInt64Array,
  "<u8": BigUint64Array, "<f4": Float32Array, "<f8": Float64Array,
} as Record<string, Kind>;
const NAMES: Record<DType, string> = {
  bool: "|b1", uint8: "|u1", int8: "|i1", int16: "<i2", uint16: "<u2", float16: "<f2",
  bfloat16: "<u2", int32: "<i4", uint32: "<u4", int64: "<i8", uint64: "<u8", float32: "<f4",
};

/** Read an array; an Error says what is wrong with the file. */
export function readNpy(file: ArrayBuffer): { shape: number[]; data: TypedArray } {
  const bytes = new Uint8Array(file);
  if (bytes.length < 12 || String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY") {
    throw new Error("this is no .npy file");
  }
  const view = new DataView(file);
  const wide = bytes[6]! > 1;
  const start = (wide ? 12 : 10) + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = new TextDecoder().decode(bytes.subarray(wide ? 12 : 10, start));
  const kind = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? "";
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  if (!KINDS[kind] || shape === undefined) throw new Error(`its type '${kind}' cannot be read`);
  if (/'fortran_order':\s*True/.test(header)) throw new Error("it is in Fortran's order");
  const sizes = shape.split(",").filter((each) => each.trim()).map(Number);
  const data = new KINDS[kind](file.slice(start));
  if (data.length !== sizes.reduce((product, each) => product * each, 1)) {
    throw new Error("the file is cut off");
  }
  return { shape: sizes, data };
}

/** Write a tensor. */
export function writeNpy(tensor: Tensor): Blob {
  const shape = `(${tensor.shape.join(", ")}${tensor.shape.length === 1 ? "," : ""})`;
  const text = `{'descr': '${NAMES[tensor.dtype]}', 'fortran_order': False, 'shape': ${shape}, }`;
  const padded = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + "\n";
  const head = new Uint8Array([0x93, 78, 85, 77, 80, 89, 1, 0, padded.length & 255, padded.length >> 8]);
  return new Blob([head, padded, tensor.data as Uint8Array<ArrayBuffer>]);
}
