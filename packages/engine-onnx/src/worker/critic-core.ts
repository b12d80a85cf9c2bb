/**
 * The critic itself, in one thread: weights, trainer and model folder, behind the calls of its
 * protocol.
 */
import { loadCheckpoint, saveCheckpoint } from '../folder/checkpoint.js';
import type { ModelFiles } from '../folder/model-folder.js';
import { parameterSpecs } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import { inOrder } from './in-order.js';
import { blankOptimizer } from '../train/optimizer-file.js';
import { unpackBatch } from '../protocol/engine-calls.js';
import { openCriticFolder } from '../value/critic-folder.js';
import type { CriticCalls, CriticOptions } from '../protocol/critic-calls.js';
import { ValueTrainer } from '../value/value-trainer.js';

type Handlers = {
  [M in keyof CriticCalls]: (args: CriticCalls[M]['args']) => Promise<CriticCalls[M]['result']>;
};

export class CriticCore {
  readonly #files: ModelFiles;
  readonly #weights: WeightBuffers;
  readonly #trainer: ValueTrainer;
  readonly #calls = inOrder();
  readonly #handlers: Handlers;

  private constructor(
    { threads, memoryBudgetBytes }: CriticOptions,
    files: ModelFiles,
    weights: Float32Array,
  ) {
    this.#files = files;
    this.#weights = new WeightBuffers(files.config, weights);
    this.#trainer = new ValueTrainer({
      config: files.config,
      weights: this.#weights,
      threads,
      memoryBudgetBytes,
    });
    this.#handlers = {
      open: async () => ({ parameters: weights.length }),
      forward: async ({ batch }) => {
        const { offsets, values } = await this.#trainer.forward(unpackBatch(batch));
        return { offsets, values };
      },
      backward: async ({ batch, offsets, gradients }) => {
        await this.#trainer.backward({ batch: unpackBatch(batch), offsets }, gradients);
        return undefined;
      },
      step: (options) => this.#trainer.step(options),
      save: async ({ directory, optimizer }) => this.#save(directory, optimizer),
      load: async ({ directory }) => this.#load(directory),
      stats: async () => this.#trainer.takeStats(),
    };
  }

  /** @throws CheckpointError when the model folder cannot be used */
  static async open(options: CriticOptions): Promise<CriticCore> {
    const { weights, ...files } = await openCriticFolder(options.modelPath);
    return new CriticCore(options, files, weights);
  }

  call<M extends keyof CriticCalls>(
    _id: number,
    method: M,
    args: CriticCalls[M]['args'],
  ): Promise<CriticCalls[M]['result']> {
    return this.#calls.run(() => this.#handlers[method](args));
  }

  /** No call of a critic can be given up. */
  cancel(): void {}

  async close(): Promise<void> {
    await this.#calls.idle();
    await this.#trainer.close();
  }

  async #save(directory: string, optimizer: boolean): Promise<undefined> {
    const state = optimizer
      ? (this.#trainer.optimizer ?? blankOptimizer(parameterSpecs(this.#files.config), 0))
      : undefined;
    await saveCheckpoint(directory, this.#files, this.#weights.training.flat, state);
    return undefined;
  }

  async #load(directory: string): Promise<undefined> {
    const { weights, optimizer } = await loadCheckpoint(directory, this.#files.config);
    this.#weights.update((_, to) => to.set(weights));
    this.#trainer.restore(optimizer);
    return undefined;
  }
}
