/**
 * The critic inside its thread. Handles the protocol's calls with a model folder, weights and a
 * trainer.
 */
import type { Handlers } from '@trinity-rft/core/worker-link';
import pLimit from 'p-limit';

import { loadCheckpoint, saveCheckpoint } from '../storage/checkpoint.js';
import type { ModelFiles } from '../storage/model-folder.js';
import { parameterCount } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import type { CriticMethods, CriticOptions } from '../protocol/critic-calls.js';
import { unpackBatch } from '../protocol/packing.js';
import { OnnxRuntime } from '../runtime/onnx-runtime.js';
import { openCriticFolder } from '../critic/critic-folder.js';
import { ValueTrainer } from '../critic/value-trainer.js';

export class CriticCore {
  readonly handlers: Handlers<CriticMethods>;
  readonly #files: ModelFiles;
  readonly #weights: WeightBuffers;
  readonly #trainer: ValueTrainer;
  /** Executes calls one at a time, in order. */
  readonly #inOrder = pLimit(1);

  private constructor({ memory }: CriticOptions, files: ModelFiles, weights: WeightBuffers) {
    const { config } = files;
    this.#files = files;
    this.#weights = weights;
    this.#trainer = new ValueTrainer({ config, weights, memory });
    this.handlers = this.#createHandlers();
  }

  /** Opens the model folder of a critic. @throws CheckpointError when the folder cannot be used */
  static async open(options: CriticOptions): Promise<CriticCore> {
    const { weights, ...files } = await openCriticFolder(options.modelPath);
    const { threads } = options;
    const runtime = new OnnxRuntime({ threads: { train: threads, sample: threads } });
    return new CriticCore(options, files, new WeightBuffers(runtime, files.config, weights));
  }

  async close(): Promise<void> {
    await this.#inOrder(() => undefined);
    await this.#trainer.close();
    await this.#weights.runtime.close();
  }

  #createHandlers(): Handlers<CriticMethods> {
    const trainer = this.#trainer;
    return {
      open: () => ({ parameters: parameterCount(this.#files.config) }),
      forward: ({ batch }) =>
        this.#inOrder(async () => {
          const { offsets, values } = await trainer.forward(unpackBatch(batch));
          return { offsets, values };
        }),
      backward: ({ batch, offsets, gradients }) =>
        this.#inOrder(() => trainer.backward({ batch: unpackBatch(batch), offsets }, gradients)),
      step: (options) => this.#inOrder(() => trainer.step(options)),
      save: ({ directory, optimizer }) => this.#inOrder(() => this.#save(directory, optimizer)),
      load: ({ directory }) => this.#inOrder(() => this.#load(directory)),
      stats: () => this.#inOrder(() => trainer.takeStats()),
    };
  }

  async #save(directory: string, withOptimizer: boolean): Promise<void> {
    const { runtime, training } = this.#weights;
    const optimizer = withOptimizer ? await this.#trainer.readOptimizer() : undefined;
    await saveCheckpoint(directory, this.#files, await runtime.readSet(training), optimizer);
  }

  async #load(directory: string): Promise<void> {
    const { weights, optimizer } = await loadCheckpoint(directory, this.#files.config);
    this.#weights.update(weights);
    this.#trainer.restore(optimizer);
  }
}
