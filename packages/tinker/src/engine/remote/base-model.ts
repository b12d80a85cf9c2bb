/** Chooses which of the server's models is trained. */
import { type Logger, EngineError } from '@trinity-rft/core';
import { capabilitiesAnswer, paths } from '../../protocol/index.js';
import type { Calls } from './calls.js';

export interface BaseModel {
  readonly name: string;
  /** Maximum context length in tokens. Infinite if the server sets no limit. */
  readonly maxContext: number;
  /** True if the server can sample from the model. */
  readonly samples: boolean;
}

/**
 * Returns the model named `wanted`. If the server has a single model, that model is used even if
 * its name differs, because SkyRL names models by a local path. The vocabulary is checked later.
 * @throws EngineError if no model fits; the message lists the models of the server
 */
export async function chooseBaseModel(
  calls: Calls,
  wanted: string | undefined,
  logger: Logger,
): Promise<BaseModel> {
  const what = 'list its models';
  const { supported_models: listed } = await calls.get(paths.capabilities, capabilitiesAnswer, {
    what,
  });
  const models = listed.flatMap(({ model_name: name, max_context_length: length, capabilities }) =>
    name
      ? [
          {
            name,
            maxContext: length ?? Infinity,
            samples: capabilities?.includes('sampling') ?? true,
          },
        ]
      : [],
  );
  const named = models.find(({ name }) => name === wanted);
  if (named !== undefined) return named;
  const [only] = models;
  if (only !== undefined && models.length === 1) {
    if (wanted !== undefined)
      logger.info(`The Tinker server has one model, ${only.name}, which is taken for ${wanted}.`);
    return only;
  }
  const names = models.map(({ name }) => name).join(', ');
  throw new EngineError(
    `The Tinker server has no model ${wanted ?? '(none was named)'}. Set model.model_path to one of ${names || 'its models; it lists none'}.`,
    { code: 'TINKER_MODEL' },
  );
}
