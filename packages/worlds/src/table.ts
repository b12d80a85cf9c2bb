import type { EnvironmentDefinition } from '@trinity-rft/environment';
import { frozenLake } from './worlds/frozen-lake/definition.js';

/** The environments that `workflow_args.environment` can name without a plugin. */
export const builtInEnvironments: readonly EnvironmentDefinition[] = [frozenLake];
