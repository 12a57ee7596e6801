// SPDX-License-Identifier: MIT OR Apache-2.0
/** The part of the page where inputs are chosen: random numbers, zeros, or a file. */

import type { PortInfo, TensorLike, TypedArray } from "../index.ts";
import { readNpy } from "./npy.ts";
import { byId, element } from "./panels.ts";

/** A row of the page that gives the array of an input. */
export class InputRow {
  private readonly choice = document.createElement("select");
  private readonly file = document.createElement("input");
  readonly row: HTMLElement;

  constructor(readonly port: PortInfo) {
    for (const text of ["random numbers", "zeros", "a .npy file"]) this.choice.add(new Option(text));
    this.choice.setAttribute("aria-label", `Contents of ${port.name}`);
    this.file.type = "file";
    this.file.accept = ".npy";
    this.file.hidden = true;
    this.file.setAttribute("aria-label", `File for ${port.name}`);
    this.choice.addEventListener("change", () => {
      this.file.hidden = this.choice.selectedIndex !== 2;
    });
    this.row = element("tr", "", "", [
      element("td", "name", port.name),
      element("td", "muted", `${port.dtype} [${port.shape.join(", ")}]`),
      element("td", "", "", [this.choice, this.file]),
    ]);
  }

  /** Return the array; an Error says what is wrong with the file. */
  async array(): Promise<TensorLike> {
    if (this.choice.selectedIndex < 2) return drawn(this.port, this.choice.selectedIndex === 0);
    const file = this.file.files?.[0];
    if (!file) throw new Error(`choose a file for '${this.port.name}'`);
    try {
      return readNpy(await file.arrayBuffer());
    } catch (error) {
      throw new Error(`'${file.name}' for '${this.port.name}': ${(error as Error).message}`);
    }
  }
}

/** Return an array for an input: integers are 0 or 1, which nearly every model can take. */
function drawn(port: PortInfo, random: boolean): TensorLike {
  const count = port.shape.reduce((product, size) => product * size, 1);
  const floats = port.dtype.includes("float");
  const values = new Array<number>(count).fill(0);
  if (random) {
    for (let index = 0; index < count; index++) {
      values[index] = floats ? 2 * Math.random() - 1 : Number(Math.random() < 0.5);
    }
  }
  return port.dtype === "float32" ? new Float32Array(values) : values;
}

/** Show the rows of all inputs. */
export function showInputs(ports: readonly PortInfo[]): InputRow[] {
  const rows = ports.map((port) => new InputRow(port));
  byId("inputs").replaceChildren(...rows.map((each) => each.row));
  return rows;
}

/** Return least, largest and mean of an array, and how many numbers are none. */
export function summary(data: TypedArray): string {
  if (!data.length) return "empty";
  let [least, most, sum, bad] = [Infinity, -Infinity, 0, 0];
  for (const each of data) {
    const value = Number(each);
    if (Number.isNaN(value)) bad += 1;
    else {
      least = Math.min(least, value);
      most = Math.max(most, value);
      sum += value;
    }
  }
  const mean = sum / Math.max(data.length - bad, 1);
  const text = [least, most, mean].map((each) => Number(each.toPrecision(6)));
  const none = bad ? `, ${bad} of ${data.length} are NaN` : "";
  return bad === data.length ? "all NaN" : `min ${text[0]}, max ${text[1]}, mean ${text[2]}${none}`;
}
