/**
 * Stores the arrays that layers read in addition to hidden states when gradients are computed layer
 * by layer.
 */
import { keysOf, type ModelConfig } from '../model/config.js';
import type { DeviceArray, DeviceArrays, Feeds, GraphRuntime } from '../runtime/graph-runtime.js';
import { freeAll } from '../runtime/host-arrays.js';

/**
 * Arrays of one micro-batch that layers read in addition to the hidden states: per-layer inputs,
 * and keys and values of earlier layers.
 */
export class BesideStates {
  /** Per-layer inputs by layer; empty if the model has none. */
  inputs: readonly DeviceArray[] = [];
  /** Gradients of the per-layer inputs for the layers given to {@link addGradients} so far. */
  readonly inputGradients: DeviceArray[] = [];
  readonly #config: ModelConfig;
  readonly #runtime: GraphRuntime;
  /**
   * For each layer whose keys and values are read later: `k` and `v`, and once they are known
   * `grad_k` and `grad_v`.
   */
  readonly #keyValues = new Map<number, Record<string, DeviceArray>>();

  constructor(config: ModelConfig, runtime: GraphRuntime) {
    this.#config = config;
    this.#runtime = runtime;
  }

  /** Returns the arrays that the graphs of a layer take as additional inputs. */
  feeds(layer: number): Feeds {
    const input = this.inputs[layer];
    return {
      ...this.#keyValues.get(keysOf(this.#config, layer)),
      ...(input && { layer_input: input }),
    };
  }

  /**
   * Stores the keys and values that a layer has computed. @param made empty if no layer reads them
   */
  add(layer: number, made: DeviceArrays): void {
    this.#keyValues.set(layer, { ...made });
  }

  /**
   * Processes the outputs of a layer's gradient graph, and frees the arrays that no other layer
   * needs. Must be called for the layers in descending order. Returns the gradients of the trained
   * parameters.
   */
  addGradients(
    layer: number,
    { grad_k: dk, grad_v: dv, grad_layer_input: dInput, ...trained }: DeviceArrays,
  ): DeviceArrays {
    const source = keysOf(this.#config, layer);
    const kept = this.#keyValues.get(source);
    if (kept && dk && dv) {
      for (const [name, found] of Object.entries({ grad_k: dk, grad_v: dv })) {
        const sum = kept[name];
        if (sum) this.#runtime.add(sum, found);
        if (sum) found.free();
        else kept[name] = found;
      }
    }
    if (source === layer && kept) freeAll(kept);
    if (dInput) this.inputGradients.unshift(dInput);
    this.inputs[layer]?.free();
    return trained;
  }
}
