/**
 * Resolves the trainer's input: a store that an explorer fills, stored experiences, or supervised
 * data.
 */
import { join } from 'node:path';
import type {
  AlgorithmConfig,
  ExperienceBufferConfig,
  ExperienceStoreConfig,
  ModelConfig,
  SupervisedBufferConfig,
} from '../base/resolved.js';
import { storeKeys } from '../../schema/buffer.js';
import { resolveSection } from '../../schema/resolve-section.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import { deriveDataset } from './dataset.js';
import { checkName, experienceBuffer, isPostgres, sqlitePath } from '../base/paths.js';
import { deriveReplay, noReplay } from './replay.js';

type BufferInput = RunInput['buffer']['trainer_input']['experience_buffer'];

const at = (key: string): KeyPath => [...experienceBuffer, key];

export function deriveExperienceBuffer(
  context: StageContext,
  model: ModelConfig,
  {
    algorithm,
    jobDirectory,
  }: { readonly algorithm: AlgorithmConfig; readonly jobDirectory: string },
): ExperienceBufferConfig {
  checkName(context, at('name'), context.input.buffer.trainer_input.experience_buffer.name);
  if (context.mode !== 'bench')
    sayUnreadBuffer(context, experienceBuffer, algorithm.needsRollouts ? 'store' : 'rows');
  if (algorithm.needsRollouts) return store(context, jobDirectory);
  noReplay(context, experienceBuffer, 'Rows are trained on as often as total_epochs says.');
  return supervised(context, model);
}

/** Resolves the buffers that the trainer reads in addition to the experience buffer. */
export function deriveAuxiliaryBuffers(
  context: StageContext,
  model: ModelConfig,
): Readonly<Record<string, ExperienceBufferConfig>> {
  const buffers = Object.entries(context.input.buffer.trainer_input.auxiliary_buffers).map(
    ([key, input]): readonly [string, ExperienceBufferConfig] => {
      const path: KeyPath = ['buffer', 'trainer_input', 'auxiliary_buffers', key];
      const schema = input.schema_type ?? (input.storage_type === 'sql' ? 'experience' : 'sft');
      const name = context.isSet(...path, 'name') ? input.name : key;
      checkName(context, [...path, 'name'], name);
      noReplay(context, path, 'Experts are mixed in again and again anyway.');
      sayUnreadBuffer(context, path, schema === 'sft' ? 'rows' : 'store');
      return [
        key,
        schema === 'sft'
          ? expertRows(context, path, { ...input, name }, model)
          : storedBuffer(context, path, { ...input, name }),
      ];
    },
  );
  return Object.fromEntries(buffers);
}

/** Resolves expert demonstrations that the model imitates. */
function expertRows(
  context: StageContext,
  path: KeyPath,
  input: BufferInput,
  model: ModelConfig,
): SupervisedBufferConfig {
  if (input.storage_type === 'sql' || input.storage_type === 'queue') {
    context.report(
      [...path, 'storage_type'],
      `got "${input.storage_type}", but answers to imitate are read from a data set. Use storage_type: file.`,
      [[...path, 'schema_type']],
    );
  }
  if (input.path === null) {
    context.report(
      [...path, 'path'],
      'is missing. Give a JSON lines, JSON or Parquet file, a folder of them, or a data set of the hub.',
      [[...path, 'storage_type']],
    );
  }
  return rowsOf(context, path, input, model);
}

/** Resolves experiences that an earlier training run has stored. */
function storedBuffer(
  context: StageContext,
  path: KeyPath,
  input: BufferInput,
): ExperienceStoreConfig {
  const database =
    input.path === null ? undefined : sqlitePath(context, [...path, 'path'], input.path);
  if (
    input.storage_type !== 'sql' ||
    database === undefined ||
    context.disk.kind(database) !== 'file'
  ) {
    context.report(
      context.isSet(...path, 'path') ? [...path, 'path'] : path,
      'contains no stored experiences. Use storage_type: sql with the path of the database of an earlier run, or schema_type: sft.',
    );
  }
  return {
    ...resolveSection(storeKeys, input),
    name: input.name,
    storageType: 'sql',
    storage: 'sqlite',
    path: database,
  };
}

function rowsOf(
  context: StageContext,
  path: KeyPath,
  input: BufferInput,
  model: ModelConfig,
): SupervisedBufferConfig {
  if (input.data_selector.selector_type === 'sequential')
    sayIgnored(
      context,
      [...path, 'data_selector'],
      ['seed'],
      'It is for selector_type: shuffle and random.',
    );
  return { ...deriveDataset(context, path, input, model), storageType: 'file' };
}

/**
 * Resolves rows to imitate. If `storage_type` is not set, the rows are in a file, as in
 * Trinity-RFT's documentation.
 */
function supervised(context: StageContext, model: ModelConfig): SupervisedBufferConfig {
  const { mode, algorithm, buffer } = context.input;
  const input = buffer.trainer_input.experience_buffer;
  // An evaluation reads no rows.
  if (mode === 'bench') return rowsOf(context, experienceBuffer, input, model);
  const uses: readonly KeyPath[] = [['algorithm', 'algorithm_type'], ['mode']];
  if (mode !== 'train') {
    const key: KeyPath = context.isSet('mode') ? ['mode'] : ['algorithm', 'algorithm_type'];
    context.report(
      key,
      `got mode "${mode}" with ${algorithm.algorithm_type}, which learns from stored answers and explores nothing. Set mode: train.`,
      uses,
    );
  }
  if (input.storage_type === 'sql' || input.storage_type === 'queue') {
    context.report(
      at('storage_type'),
      `got "${input.storage_type}", but ${algorithm.algorithm_type} reads its answers from a data set. Use storage_type: file.`,
      uses,
    );
  }
  if (input.path === null) {
    context.report(
      at('path'),
      `is missing. ${algorithm.algorithm_type} needs a JSON lines, JSON or Parquet file, a folder of them, or a data set of the hub.`,
      uses,
    );
  }
  return rowsOf(context, experienceBuffer, input, model);
}

function store(context: StageContext, jobDirectory: string): ExperienceStoreConfig {
  const { mode } = context;
  const input = context.input.buffer.trainer_input.experience_buffer;
  const storageType = input.storage_type === 'sql' ? 'sql' : 'queue';
  if (input.storage_type === 'file') fileInsteadOfStore(context, mode === 'both');
  const inMemory = storageType === 'queue' && input.storage === 'memory';
  if (storageType === 'sql')
    sayIgnored(context, experienceBuffer, ['storage'], 'storage_type: sql is a database.');
  else if (inMemory && !(isPostgres(input.path) && hasProcesses(context)))
    sayIgnored(
      context,
      experienceBuffer,
      ['path', 'keep_trained_steps'],
      'storage: memory writes no database.',
    );
  const path = inMemory ? undefined : databasePath(context, storageType, jobDirectory);
  if (mode === 'serve' && inMemory)
    context.report(
      at('storage'),
      'got "memory", but a server must keep its experiences when it restarts. Remove the key.',
      [['mode']],
    );
  if (mode === 'train' && input.storage_type !== 'file' && (inMemory || path !== undefined))
    checkStored(context, path);
  return {
    ...resolveSection(storeKeys, input),
    name: input.name,
    storageType,
    storage: inMemory ? 'memory' : 'sqlite',
    path,
    replay: deriveReplay(context, experienceBuffer, input),
  };
}

function fileInsteadOfStore(context: StageContext, explores: boolean): void {
  if (explores)
    context.warn(
      at('storage_type'),
      '"file" is read as "queue": the explorer passes its experiences to the trainer.',
    );
  else
    context.report(
      at('storage_type'),
      'got "file", which is for answers to imitate. Use sql with the database of an earlier run, or algorithm_type: sft.',
      [['mode'], ['algorithm', 'algorithm_type']],
    );
}

/**
 * Returns the path of the experience database. For a queue, ignores the configured path, because in
 * Trinity-RFT it names a copy for inspection.
 */
function databasePath(
  context: StageContext,
  storageType: 'queue' | 'sql',
  jobDirectory: string,
): string | undefined {
  const { name, path } = context.input.buffer.trainer_input.experience_buffer;
  const own = join(jobDirectory, 'buffer', `${name}.db`);
  if (path === null || context.part !== undefined) return own;
  const inQueue = storageType === 'queue' || context.mode === 'both';
  if (isPostgres(path) && inQueue) warnOfOneProcess(context, name);
  else if (isPostgres(path) && context.mode === 'train') {
    context.report(
      at('path'),
      'got the address of a database server, which a trainer uses only if its file has no stages and the buffer.explorer_input.taskset of its explorers. Otherwise use sqlite:///file.db.',
      [['mode']],
    );
    return undefined;
  } else if (storageType === 'sql') return sqlitePath(context, at('path'), path);
  else
    context.warn(
      at('path'),
      `ignored. A queue is in the folder of the run, as buffer/${name}.db; use storage_type: sql to choose the file.`,
    );
  return own;
}

function checkStored(context: StageContext, path: string | undefined): void {
  const { total_epochs: epochs, trainer_input: reads } = context.input.buffer;
  if (epochs > 1 && reads.experience_buffer.replay_buffer.enable)
    context.report(
      ['buffer', 'total_epochs'],
      `got ${epochs}, but a replay buffer decides by priority how often an experience is trained on. Remove one of the two; trainer.total_steps bounds a replay.`,
      [['mode'], [...at('replay_buffer'), 'enable']],
    );
  if (path === undefined) {
    context.report(
      at('storage'),
      'got "memory", but mode train needs experiences that an earlier run has stored. Use storage_type: sql with the path of its database.',
      [at('path'), ['mode']],
    );
  } else if (context.disk.kind(path) !== 'file') {
    const key = context.isSet(...at('path')) ? at('path') : at('storage_type');
    context.report(
      key,
      `mode train reads stored experiences, but there is no ${path}. Use storage_type: sql with the path of the database of an earlier run; or set buffer.explorer_input.taskset, to train beside explorers; or start trinity serve --no-train with the same names first, to train beside a server.`,
      [at('path'), ['mode']],
    );
  }
}

/** Returns true if several processes explore and train. */
const hasProcesses = ({ part, input }: StageContext): boolean =>
  part !== undefined || input.cluster.explorers > 0;

function warnOfOneProcess(context: StageContext, name: string): void {
  if (hasProcesses(context)) return;
  context.warn(
    at('path'),
    `is where processes of a run meet, and one process does not use it: its queue is buffer/${name}.db. Start the run with --explorers N, or its processes with --mode train and --mode explore.`,
  );
}

/** Keys that a kind of buffer does not read, with the reasons. */
const unreadKeys = {
  rows: {
    names: ['storage', 'capacity', 'max_read_timeout'],
    reason: 'It is for experiences, and these are rows of a data set.',
  },
  store: {
    names: ['split', 'subset_name', 'format', 'data_selector'],
    reason: 'It is for rows of a data set, and these are experiences.',
  },
} as const;

function sayUnreadBuffer(context: StageContext, section: KeyPath, kind: 'rows' | 'store'): void {
  const { names, reason } = unreadKeys[kind];
  sayIgnored(context, section, names, reason);
}
