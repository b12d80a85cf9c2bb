/** The accumulated gradient: a flat array to which the outputs of every micro-batch are added in order. */
import type { ParameterSpec } from '../model/parameters.js';

/** A lookup table that is trained: its gradient comes by row. */
export interface LookupTable {
  readonly spec: ParameterSpec;
  /** The table is also the head, whose gradient comes as a matrix. */
  readonly tied: boolean;
}

/** Outputs of the backward graph by name. */
export type GradientOutputs = Readonly<Record<string, { readonly data: unknown }>>;

export class GradientSum {
  readonly #flat: Float32Array;
  readonly #specs: readonly ParameterSpec[];
  readonly #table: LookupTable | undefined;
  #empty = true;

  /** @param specs the trained parameters */
  constructor(specs: readonly ParameterSpec[], table?: LookupTable) {
    this.#specs = specs;
    this.#table = table;
    this.#flat = new Float32Array(this.#specs.reduce((sum, spec) => sum + spec.size, 0));
  }

  /**
   * dL/dparameter in the order of the parameters, zeros when nothing was added. A view, valid until
   * the next call. [P]
   */
  get flat(): Float32Array {
    if (this.#empty) this.#flat.fill(0);
    return this.#flat;
  }

  /** Adds the outputs of one micro-batch whose input ids were `ids`. */
  add(outputs: GradientOutputs, ids: Int32Array): void {
    for (const spec of this.#specs) {
      const target = this.#flat.subarray(spec.offset, spec.offset + spec.size);
      if (spec === this.#table?.spec && !this.#table.tied) {
        if (this.#empty) target.fill(0);
      } else {
        const found = outputs[`grad.${spec.name}`]!.data as Float32Array;
        if (this.#empty) target.set(found);
        else addTo(target, found);
      }
    }
    this.#empty = false;
    if (this.#table === undefined) return;
    const { offset, size, shape } = this.#table.spec;
    addRows(
      this.#flat.subarray(offset, offset + size),
      outputs['grad.embedded']!.data as Float32Array,
      ids,
      shape[1]!,
    );
  }

  /** Starts again from 0. */
  clear(): void {
    this.#empty = true;
  }
}

function addTo(target: Float32Array, source: Float32Array): void {
  for (let i = 0; i < target.length; i++) target[i] = target[i]! + source[i]!;
}

/** Row i of `rows` is added to row `ids[i]` of `table`: the gradient of a lookup. */
function addRows(table: Float32Array, rows: Float32Array, ids: Int32Array, width: number): void {
  for (let i = 0; i < ids.length; i++) {
    const to = ids[i]! * width;
    const from = i * width;
    for (let j = 0; j < width; j++) table[to + j] = table[to + j]! + rows[from + j]!;
  }
}
