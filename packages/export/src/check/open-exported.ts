/** Opens an export as a model in this process, to chat with it or to evaluate it. */
import path from 'node:path';
import { openTogether } from '@trinity-rft/core/support';
import { loadModel, modelOver, type ChatSettings, type LocalModel } from '@trinity-rft/local';
import type { FormatName } from '../format/formats.js';
import { transformersSampler } from './transformers-js.js';

interface Exported {
  readonly folder: string;
  readonly file: string;
  /** Model name in requests. */
  readonly name: string;
  readonly target: FormatName;
  /** Data type or quantisation of the weights. */
  readonly dtype: string;
  readonly chat: ChatSettings;
  readonly contextTokens: number;
}

/**
 * Opens an export as a {@link LocalModel}.
 * @throws ConfigError if the package of the runtime is not installed
 */
export async function openExported(exported: Exported): Promise<LocalModel> {
  const { folder, file, name, target, dtype, chat, contextTokens } = exported;
  const location = path.join(folder, file);
  if (target !== 'transformersjs')
    return loadModel(location, {
      name,
      chat,
      seed: 0,
      maxModelLen: contextTokens,
      gpu: false,
      threads: 1,
    });
  return openTogether(async (stack) => {
    const opened = transformersSampler(
      location,
      dtype as Parameters<typeof transformersSampler>[1],
      contextTokens,
    );
    const { sampler } = stack.use(await opened);
    const model = stack.use(await modelOver(sampler, { location, chat }, { name, seed: 0 }));
    return { ...model, close: () => stack.close() };
  });
}
