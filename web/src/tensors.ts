// SPDX-License-Identifier: MIT OR Apache-2.0
/** Arrays that go into a model and come out of it. */

import { InputError } from "./errors.ts";

export type DType =
  | "bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64"
  | "float16" | "bfloat16" | "float32";

export type TypedArray =
  | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array
  | Uint32Array | BigInt64Array | BigUint64Array | Float32Array | Float64Array;

/** An array with its type and shape, row-major. */
export interface Tensor {
  dtype: DType;
  shape: number[];
  /** float16 and bfloat16 come as their bits, in a Uint16Array. */
  data: TypedArray;
}

/** What a call takes for an input: elements in row-major order. */
export type TensorLike =
  | TypedArray
  | ArrayLike<number | bigint | boolean>
  | { data: TypedArray | ArrayLike<number | bigint | boolean>; shape?: readonly number[] }
  | number | bigint | boolean;

type Constructor = new (buffer: ArrayBuffer, offset: number, length: number) => TypedArray;

export const BYTES: Record<DType, number> = {
  bool: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8,
  float16: 2, bfloat16: 2, float32: 4,
};

const ARRAYS: Record<DType, Constructor> = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array,
} as Record<DType, Constructor>;

interface Described {
  name: string;
  dtype: DType;
  shape: number[];
}

/** Return how many elements a shape has. */
export function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Return a tensor on bytes that nothing else uses. */
export function tensorOf(port: Described, bytes: ArrayBuffer): Tensor {
  const data = new ARRAYS[port.dtype](bytes, 0, elements(port.shape));
  return { dtype: port.dtype, shape: [...port.shape], data };
}

/**
 * Return the bytes of an input, copied, with zeros up to a whole word.
 *
 * @throws InputError `input-shape`, `input-dtype` or `input-value`.
 */
export function bytesOf(port: Described, given: TensorLike): Uint8Array<ArrayBuffer> {
  const data = elementsOf(port, given);
  const count = elements(port.shape);
  if (data.length !== count) {
    throw new InputError("input-shape", `input '${port.name}' has ${data.length} elements`, {
      because: `the model takes ${count}, of shape [${port.shape.join(", ")}]`,
      hint: "the shape was fixed when the model was compiled: compile it for another one",
    });
  }
  const bytes = new Uint8Array(Math.ceil((count * BYTES[port.dtype]) / 4) * 4);
  const target = new ARRAYS[port.dtype](bytes.buffer, 0, count);
  if (ArrayBuffer.isView(data)) {
    checkKind(port, data);
    const source = data as unknown as TypedArray;
    bytes.set(new Uint8Array(source.buffer, source.byteOffset, source.byteLength));
    if (port.dtype === "bool") checkFlags(port, target as Uint8Array);
  } else {
    for (let index = 0; index < count; index++) {
      target[index] = numberOf(port, data[index] as number | bigint | boolean, index);
    }
  }
  return bytes;
}

function elementsOf(
  port: Described,
  given: TensorLike,
): TypedArray | ArrayLike<number | bigint | boolean> {
  if (typeof given === "number" || typeof given === "bigint" || typeof given === "boolean") {
    return [given];
  }
  if (given === null || typeof given !== "object") {
    throw new InputError("input-dtype", `input '${port.name}' is no array`, {
      because: `it is ${given === null ? "null" : typeof given}`,
      hint: `give ${kindName(port.dtype)}, or a list of numbers`,
    });
  }
  if ("data" in given) {
    const { data, shape } = given;
    if (shape && shape.join() !== port.shape.join()) {
      throw new InputError("input-shape", `input '${port.name}' has shape [${shape.join(", ")}]`, {
        because: `the model takes [${port.shape.join(", ")}]`,
        hint: "the shape was fixed when the model was compiled: compile it for another one",
      });
    }
    return data;
  }
  return given as ArrayLike<number>;
}

function kindName(dtype: DType): string {
  const name = ARRAYS[dtype].name;
  return dtype.endsWith("float16") ? `a ${name} of its bits` : `a ${name}`;
}

function checkKind(port: Described, data: unknown): void {
  const kind = (data as object).constructor.name;
  const same = kind === ARRAYS[port.dtype].name;
  const close = kind === "Uint8ClampedArray" && port.dtype === "uint8";
  if (same || close || (kind === "Float16Array" && port.dtype === "float16")) return;
  throw new InputError("input-dtype", `input '${port.name}' is a ${kind}`, {
    because: `the model takes ${port.dtype}`,
    hint: `give ${kindName(port.dtype)}, or a list of numbers`,
  });
}

function checkFlags(port: Described, data: Uint8Array): void {
  const wrong = data.findIndex((each) => each > 1);
  if (wrong >= 0) throw badValue(port, data[wrong] as number, wrong);
}

/** Return an element as its array holds it; an integer must be one, and fit. */
function numberOf(port: Described, value: number | bigint | boolean, index: number): never {
  if (!["number", "bigint", "boolean"].includes(typeof value)) throw badValue(port, value, index);
  let result: number | bigint;
  switch (port.dtype) {
    case "float32": result = Number(value); break;
    case "float16": result = halfBits(Number(value)); break;
    case "bfloat16": result = brainBits(Number(value)); break;
    default: result = integerOf(port, value, index);
  }
  return result as never;
}

function integerOf(
  port: Described,
  value: number | bigint | boolean,
  index: number,
): number | bigint {
  if (typeof value === "number" && !Number.isInteger(value)) throw badValue(port, value, index);
  const whole = BigInt(value);
  const bits = port.dtype === "bool" ? 1 : 8 * BYTES[port.dtype];
  const signed = port.dtype.startsWith("int");
  const fits = signed ? BigInt.asIntN(bits, whole) : BigInt.asUintN(bits, whole);
  if (fits !== whole) throw badValue(port, value, index);
  return port.dtype.endsWith("64") ? whole : Number(whole);
}

function badValue(port: Described, value: unknown, index: number): InputError {
  return new InputError("input-value", `input '${port.name}' has ${value} at ${index}`, {
    because: `the model takes ${port.dtype}, which has no such number`,
  });
}

const floats = new Float32Array(1);
const words = new Uint32Array(floats.buffer);

function bitsOf(value: number): number {
  floats[0] = value;
  return words[0] as number;
}

/** Return the bits of a number rounded to bfloat16, to even where there is a tie. */
export function brainBits(value: number): number {
  const bits = bitsOf(value);
  if (Number.isNaN(value)) return 0x7fc0;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** Return the bits of a number rounded to float16, to even where there is a tie. */
export function halfBits(value: number): number {
  const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  // The exponent of the last place: 2 ** -24 for subnormal numbers.
  const exponent = Math.max(Math.floor(Math.log2(Math.max(size, 2 ** -30))), -14);
  const scaled = size / 2 ** (exponent - 10);
  let digits = Math.floor(scaled);
  const rest = scaled - digits;
  if (rest > 0.5 || (rest === 0.5 && digits % 2 === 1)) digits += 1;
  // A carry into the exponent gives the next power of two, as it should.
  return sign | (digits + ((exponent + 14) << 10));
}
