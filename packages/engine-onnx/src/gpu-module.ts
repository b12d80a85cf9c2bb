/** Finds the module that runs graphs on a GPU, and checks whether it supports a model. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { ConfigError } from '@trinity-rft/core';

import type { ModelConfig } from './model/config.js';
import { exactScoring } from './model/column-parts.js';
import { forwardGraph } from './model/training-graphs.js';
import type { ModelRecord } from './onnx/graph/record.js';

const gpuPackage = '@trinity-rft/engine-webgpu';

/**
 * Files whose folders are searched for the package, in this order: the project's package.json, the
 * running program, and this file.
 */
const places: readonly (() => string)[] = [
  () => path.resolve('package.json'),
  // With `node -e CODE`, `process.argv[1]` is the first argument or undefined, and not a file.
  () => realpathSync(process.argv[1] ?? ''),
  () => import.meta.url,
];

/**
 * Returns the URL of the module that runs graphs on a GPU.
 * @throws ConfigError if the package is not installed
 */
export function gpuModule(): string {
  for (const place of places)
    try {
      return pathToFileURL(createRequire(place()).resolve(gpuPackage)).href;
    } catch {
      // The place does not exist, or the package is not installed there.
    }
  throw new ConfigError(
    `model.device: webgpu needs the package ${gpuPackage}, which is not installed. Run: npm install ${gpuPackage} webgpu`,
    { code: 'PEER_MISSING' },
  );
}

/**
 * Checks that the packages for the GPU are installed, and that they support all operators of a
 * model's forward pass.
 * @throws ConfigError if a package is missing, EngineError naming an operator that is not supported
 */
export async function checkGpu(config: ModelConfig, module = gpuModule()): Promise<void> {
  const { checkRecord } = (await import(module)) as {
    readonly checkRecord: (record: ModelRecord) => Promise<void>;
  };
  const { parts } = exactScoring(config, undefined);
  await checkRecord(forwardGraph(config, { parts, entropy: false, chunks: 1 }));
}
