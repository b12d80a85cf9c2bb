/** Auxiliary models by name or by place. */
import { ConfigError, didYouMean } from '@trinity-rft/core';
import type { AgentModel } from '../definition/types.js';

/**
 * `which` is a name, or the place in `explorer.auxiliary_models` from 0.
 * @throws ConfigError saying which models there are
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
      : `There are: ${names.join(', ')}.`;
  throw new ConfigError(
    `The workflow wants the auxiliary model ${JSON.stringify(which)}, which does not exist.${similar} ${known}`,
    {
      code: 'AUXILIARY_MODEL_MISSING',
    },
  );
}
