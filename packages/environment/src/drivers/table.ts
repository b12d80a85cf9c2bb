/** Environments of other systems, by the name that `workflow_args.environment` has. */
import type { EnvironmentDefinition } from '../seam/define.js';
import { openenv } from './openenv/openenv.js';

export const drivers: readonly EnvironmentDefinition[] = [openenv];
