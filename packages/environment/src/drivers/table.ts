/** Drivers for environments of other systems, which `workflow_args.environment` can name. */
import type { EnvironmentDefinition } from '../seam/define.js';
import { mcp } from './mcp/mcp.js';
import { miniwob } from './miniwob/miniwob.js';
import { openenv } from './openenv/openenv.js';
import { python } from './python/python.js';

export const drivers: readonly EnvironmentDefinition[] = [mcp, miniwob, openenv, python];
