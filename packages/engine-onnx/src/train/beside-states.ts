/**
 * Arrays that layers read in addition to their states when gradients are computed layer by layer.
 */
import { keysOf, type ModelConfig } from '../model/config.js';
import type { DeviceArray, DeviceArrays, Feeds, GraphRuntime } from '../runtime/graph-runtime.js';
import { freeAll } from '../runtime/host-arrays.js';

/**
 * Arrays of one micro-batch that layers read in addition to their states: their inputs, and keys
 * and values of earlier layers.
 */
export class BesideStates {
  /** Inputs of the layers; empty if the model has none. */
  inputs: readonly DeviceArray[] = [];
  /** Gradients of the inputs of the layers that {@link addGradients} has seen. */
  readonly inputGradients: DeviceArray[] = [];
  readonly #config: ModelConfig;
  readonly #runtime: GraphRuntime;
  /** `k` and `v`, and later `grad_k` and `grad_v`, of the layers whose keys are read. */
  readonly #keyValues = new Map<number, Record<string, DeviceArray>>();

  constructor(config: ModelConfig, runtime: GraphRuntime) {
    this.#config = config;
    this.#runtime = runtime;
  }

  /** Returns the inputs of the graphs of a layer. */
  feeds(layer: number): Feeds {
    const input = this.inputs[layer];
    return {
      ...this.#keyValues.get(keysOf(this.#config, layer)),
      ...(input && { layer_input: input }),
    };
  }

  /** Adds the keys and values that a layer has made. @param made empty if no layer reads them */
  add(layer: number, made: DeviceArrays): void {
    this.#keyValues.set(layer, { ...made });
  }

  /**
   * Adds the outputs of the gradient graph of a layer, and frees the arrays that no other layer
   * needs. Layers are added last first. Returns the gradients of the trained parameters.
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
