/** The module that runs graphs on a GPU: where it is, and whether it can run a model. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { ConfigError } from '@trinity-rft/core';

import type { ModelConfig } from './model/config.js';
import { samplerAgreement } from './model/column-parts.js';
import { forwardGraph } from './model/training-graphs.js';
import type { ModelRecord } from './onnx/graph/record.js';

const gpuPackage = '@trinity-rft/engine-webgpu';

/**
 * The module that runs graphs on a GPU: from the project, the program that runs, or beside this package.
 * @throws ConfigError if there is none
 */
export function gpuModule(): string {
  const program = process.argv[1];
  const places = [path.resolve('package.json'), ...(program ? [realpathSync(program)] : [])];
  for (const from of [...places, import.meta.url])
    try {
      return pathToFileURL(createRequire(from).resolve(gpuPackage)).href;
    } catch {
      // Not there.
    }
  throw new ConfigError(
    `model.device: webgpu needs the package ${gpuPackage}, which is not installed. Run: npm install ${gpuPackage} webgpu`,
    { code: 'PEER_MISSING' },
  );
}

/**
 * Checks that the packages for the GPU are installed and have all operators of a model.
 * @throws ConfigError if a package is missing, EngineError that names the operator
 */
export async function checkGpu(config: ModelConfig): Promise<void> {
  const { checkRecord } = (await import(gpuModule())) as {
    readonly checkRecord: (record: ModelRecord) => Promise<void>;
  };
  const { parts } = samplerAgreement(config, undefined);
  await checkRecord(forwardGraph(config, { parts, entropy: false, chunks: 1 }));
}
