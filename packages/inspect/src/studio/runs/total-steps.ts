/** Total number of steps of a run, from its settings or its data. */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { RunSettings, RunSummary } from '../interface/types.js';
import { whenChanged } from '../shared/when-changed.js';

interface TotalSteps {
  readonly steps?: number;
  /** Role whose steps are counted. */
  readonly of: 'trainer' | 'explorer';
  /** Reason why `steps` is unknown. */
  readonly unknown?: RunSummary['noTotal'];
}

/** Completed passes of the trainer over its data file, and the train steps that they took. */
export interface Passes {
  readonly epochs: number;
  readonly steps: number;
}

export type TotalReader = (settings: RunSettings, passes?: Passes) => Promise<TotalSteps>;

/**
 * Creates the reader.
 * @param job returns the folder of the run, to which paths in its settings are relative
 */
export function totalReader(job: () => Promise<string>): TotalReader {
  const counts = new Map<string, () => Promise<number>>();
  const linesOf = (file: string): Promise<number> => {
    const known = counts.get(file) ?? whenChanged([file], () => countLines(file));
    counts.set(file, known);
    return known();
  };
  return async (settings, passes) => {
    if (settings['mode'] === 'bench') return { of: 'explorer' };
    const given = givenSteps(settings);
    if (given) return given;
    const { mode, 'buffer.total_epochs': epochs, 'buffer.batch_size': batchSize } = settings;
    if (passes && passes.epochs > 0 && typeof epochs === 'number')
      return { steps: Math.round((passes.steps * epochs) / passes.epochs), of: 'trainer' };
    const why = (unknown: TotalSteps['unknown']): TotalSteps => ({ of: 'explorer', unknown });
    if (Object.keys(settings).length === 0) return why('noSettings');
    if (mode === 'serve') return why('serves');
    if (mode !== 'both' && mode !== 'explore') return why('dataElsewhere');
    if (settings['explorer.dynamic_sampling.enable'] === true) return why('dynamicSampling');
    const tasks = await taskCount(settings, await job(), linesOf);
    if (tasks === undefined || typeof epochs !== 'number' || typeof batchSize !== 'number')
      return why('dataElsewhere');
    return { steps: Math.floor((epochs * tasks) / batchSize), of: 'explorer' };
  };
}

function givenSteps(settings: RunSettings): TotalSteps | undefined {
  const given = settings['trainer.total_steps'];
  if (typeof given === 'number') return { steps: given, of: 'trainer' };
  const steps = settings['buffer.total_steps'];
  if (typeof steps !== 'number') return undefined;
  return { steps, of: settings['mode'] === 'train' ? 'trainer' : 'explorer' };
}

/**
 * Returns the number of tasks in all task sets. Returns undefined if a set is not a whole readable
 * JSONL file and does not state how many tasks it generates, or if a pipeline selects tasks.
 */
async function taskCount(
  settings: RunSettings,
  job: string,
  linesOf: (file: string) => Promise<number>,
): Promise<number | undefined> {
  const sets = Object.keys(settings).flatMap(
    (key) => /^(buffer\.explorer_input\.tasksets\[\d+\])\.name$/.exec(key)?.[1] ?? [],
  );
  if (Object.keys(settings).some((key) => key.startsWith('data_processor.task_pipeline.')))
    return undefined;
  let sum = 0;
  for (const set of sets) {
    const [made, place] = [settings[`${set}.task_count`], settings[`${set}.path`]];
    if (typeof place !== 'string' && typeof made === 'number') sum += made;
    else if (
      typeof place === 'string' &&
      place.endsWith('.jsonl') &&
      // Not a part of the file, such as `train[:100]`, or several parts.
      !/[+[]/.test(String(settings[`${set}.split`]))
    ) {
      const lines = await linesOf(path.resolve(job, place)).catch(() => undefined);
      if (lines === undefined) return undefined;
      sum += lines;
    } else return undefined;
  }
  return sets.length === 0 ? undefined : sum;
}

const newline = 0x0a;
/** Bytes of space, tab and carriage return. */
const blank: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d]);

/** Counts lines that are not blank. */
async function countLines(file: string): Promise<number> {
  let count = 0;
  let hasText = false;
  for await (const part of createReadStream(file) as AsyncIterable<Buffer>)
    for (const byte of part)
      if (byte === newline) hasText = false;
      else if (!hasText && !blank.has(byte)) {
        hasText = true;
        count++;
      }
  return count;
}
