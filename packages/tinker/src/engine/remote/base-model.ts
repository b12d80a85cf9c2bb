/** Chooses which of the server's models is trained. */
import { type Logger, EngineError } from '@trinity-rft/core';
import { capabilitiesAnswer, paths } from '../../protocol/index.js';
import type { Calls } from './calls.js';

export interface BaseModel {
  readonly name: string;
  /** Maximum context length in tokens. Infinite if the server sets no limit. */
  readonly maxContext: number;
  /** True if the server supports sampling from the model. */
  readonly samples: boolean;
}

/** Names of the model to train. The first one that is set is used. */
export interface WantedModel {
  /** Name in the record of the checkpoint that training starts from. */
  readonly recorded: string | undefined;
  /** Name from the user's configuration. */
  readonly set: string | undefined;
  /** The model's id on the Hugging Face Hub, which a server may use as its name. */
  readonly hubId: string | undefined;
}

/**
 * Returns the wanted model. If the server has a single model, that model is used even if its name
 * differs from `hubId`, because SkyRL names models by a local path. The vocabulary is checked
 * later.
 * @throws EngineError if no model fits; the message lists the server's models
 */
export async function chooseBaseModel(
  calls: Calls,
  { recorded, set, hubId }: WantedModel,
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
  const required = recorded ?? set;
  const wanted = required ?? hubId;
  const named = models.find(({ name }) => name === wanted);
  if (named !== undefined) return named;
  const [only] = models;
  if (only !== undefined && models.length === 1 && required === undefined) {
    if (wanted !== undefined)
      logger.info(`The Tinker server has one model, ${only.name}, which is taken for ${wanted}.`);
    return only;
  }
  const names = models.map(({ name }) => name).join(', ');
  const ownAdvice =
    recorded === undefined
      ? `Set model.tinker.base_model to one of ${names}`
      : `The checkpoint was trained from it: use a server that has it instead of ${names}`;
  const advice = only ? ownAdvice : 'It lists no models: start it with the model to train';
  throw new EngineError(
    `The Tinker server has no model ${wanted ?? '(none was named)'}. ${advice}.`,
    { code: 'TINKER_MODEL' },
  );
}
