import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import type { AgentModel } from '../definition/types.js';

/**
 * Returns an auxiliary model.
 * @param which name of the model, or its index in `explorer.auxiliary_models`
 * @throws ConfigError if the model is not configured
 */
export function auxiliaryModel(
  models: ReadonlyMap<string, AgentModel>,
  which: string | number,
): AgentModel {
  const found = typeof which === 'string' ? models.get(which) : [...models.values()][which];
  if (found) return found;
  const names = [...models.keys()];
  const similar = typeof which === 'string' ? didYouMean(which, names) : '';
  const known =
    names.length === 0
      ? 'None is configured: add it to explorer.auxiliary_models.'
      : `Configured: ${names.join(', ')}.`;
  throw new ConfigError(
    `The workflow needs the auxiliary model ${JSON.stringify(which)}, ` +
      `which is not configured.${similar} ${known}`,
    { code: 'AUXILIARY_MODEL_MISSING' },
  );
}
