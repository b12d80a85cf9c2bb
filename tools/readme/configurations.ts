/** Configurations in the documents. */
import { join } from 'node:path';
import { parseConfig, type LoadedConfig } from '../../packages/config/src/index.ts';
import { onnxEngine } from '../../packages/engine-onnx/src/index.ts';
import { tinkerEngine } from '../../packages/tinker/src/engine/index.ts';
import type { Block } from './blocks.ts';

const others = ['kubernetes', 'compose', 'models'];

export const isConfiguration = ({ language, words }: Block): boolean =>
  language === 'yaml' && !others.some((word) => words.includes(word));

/** Environment variables; the password of the database must not appear in any output. */
const env = { DATABASE_URL: 'postgresql://trinity:hunter2@postgres/runs' };

/**
 * Parses a configuration of a document.
 * @throws ConfigError with every problem
 */
export const readConfiguration = (root: string, text: string, file: string): LoadedConfig =>
  parseConfig(text, {
    file,
    engines: { onnx: onnxEngine, tinker: tinkerEngine },
    env,
    cwd: join(root, 'tools/readme/files'),
  });
