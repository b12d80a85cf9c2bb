/**
 * Drivers for other systems' environments, which configurations name in
 * `workflow_args.environment`.
 */
import type { EnvironmentDefinition } from '../seam/define.js';
import { mcp } from './mcp/mcp.js';
import { miniwob } from './miniwob/miniwob.js';
import { openenv } from './openenv/openenv.js';
import { python } from './python/python.js';

export const drivers: readonly EnvironmentDefinition[] = [mcp, miniwob, openenv, python];
