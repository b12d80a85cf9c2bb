/**
 * Resolves the part of mode `both` that a process executes, and the store that the processes share.
 */
import { join } from 'node:path';
import type { KeyPath } from '../source/node.js';
import type { StageContext } from './base/context.js';
import type { AlgorithmConfig } from './base/resolved.js';
import { experienceBuffer, isPostgres, sqliteFile, sqlitePath } from './base/paths.js';

/**
 * Converts a stage of mode explore or train to one part of mode `both`: its process explores for a
 * trainer in another process, or trains on the experiences of explorers in other processes. Does
 * not convert mode train if the stage has no tasks, or has the database of an earlier training run;
 * it then trains on stored experiences.
 */
export function asPart(context: StageContext, needs: PartNeeds): StageContext {
  const { mode } = context.input;
  if (mode === 'explore') {
    if (context.stageName !== undefined)
      context.report(
        ['mode'],
        'got "explore" in a file with stages. An explorer belongs to one loop: give that loop a file of its own.',
      );
    return { ...context, mode: 'both', part: 'explore' };
  }
  const { cluster, buffer } = context.input;
  if (mode === 'both' && cluster.explorers > 0) {
    const obstacle = obstacleToExplorers(context, needs);
    if (obstacle)
      context.report(
        obstacle.key,
        `${obstacle.why}, so the processes of cluster.explorers (${cluster.explorers}) cannot share its experiences. Set cluster.explorers to 0, or change this.`,
        [['cluster', 'explorers']],
      );
  }
  const hasTasks = buffer.explorer_input.tasksets.length > 0;
  if (mode !== 'train' || !hasTasks || obstacleToExplorers(context, needs)) return context;
  return { ...withBatchSize(context, needs), mode: 'both', part: 'train' };
}

/**
 * Derives the size of an explore step from the size of a train step, because files of Trinity-RFT
 * for trainers only set the size of a train step.
 */
function withBatchSize(context: StageContext, { algorithm }: PartNeeds): StageContext {
  const { buffer } = context.input;
  const { train_batch_size: size, train_batch_unit: unit } = buffer;
  const tasks = unit === 'tasks' ? size : size / algorithm.repeatTimes;
  const isTold = context.isSet('buffer', 'batch_size') || size === 0 || unit === 'experiences';
  if (isTold || !Number.isInteger(tasks)) return context;
  context.warn(
    ['buffer', 'train_batch_size'],
    `is ${size}, and batch_size is not set: an explore step is ${tasks} tasks, so that one train step takes one explore step. Set batch_size as the explorers have it for another number.`,
  );
  return { ...context, input: { ...context.input, buffer: { ...buffer, batch_size: tasks } } };
}

interface PartNeeds {
  readonly algorithm: Pick<AlgorithmConfig, 'needsRollouts' | 'repeatTimes'>;
  /** Folder of the stage. */
  readonly jobDirectory: string;
}

interface Obstacle {
  readonly key: KeyPath;
  readonly why: string;
}

/**
 * Finds what prevents explorers and a trainer from executing the stage together, as processes that
 * share a store.
 */
function obstacleToExplorers(
  { input, disk, stageName }: StageContext,
  { jobDirectory, algorithm }: PartNeeds,
): Obstacle | undefined {
  const { name, storage_type: kind, storage, path } = input.buffer.trainer_input.experience_buffer;
  const explorers: KeyPath = ['cluster', 'explorers'];
  if (stageName !== undefined)
    return { key: explorers, why: 'one process executes all stages of a file' };
  if (!algorithm.needsRollouts)
    return { key: explorers, why: 'the algorithm learns from data, and nothing is explored' };
  if (isPostgres(path)) return undefined;
  if (kind === 'sql' || kind === 'file')
    return {
      key: [...experienceBuffer, 'storage_type'],
      why: `"${kind}" reads stored experiences`,
    };
  if (storage === 'memory')
    return { key: [...experienceBuffer, 'storage'], why: '"memory" belongs to one process' };
  const own = join(jobDirectory, 'buffer', `${name}.db`);
  const shared = path === null ? undefined : sqliteFile(disk, path);
  const meet = shared ?? join(jobDirectory, runDatabase);
  if (disk.kind(meet) === 'file' || disk.kind(own) !== 'file') return undefined;
  return { key: explorers, why: `${own} has the experiences of a run of one process` };
}

const runDatabase = 'run.db';

/** Returns the store that the processes of a training run share. */
export function deriveRunStore(context: StageContext, jobDirectory: string): string {
  const { path } = context.input.buffer.trainer_input.experience_buffer;
  const own = join(jobDirectory, runDatabase);
  // A PostgreSQL address is used even if the command line, and not the file, sets the part.
  if (isPostgres(path)) return path;
  if (context.part === undefined || path === null) return own;
  return sqlitePath(context, [...experienceBuffer, 'path'], path) ?? own;
}
