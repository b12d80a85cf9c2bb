/** What the run of a checkpoint recorded about it: base model, algorithm, evaluations, prompts. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readManifest } from '@trinity-rft/core/engine';
import { readRecord, type Settings } from '@trinity-rft/launcher/files';
import { readMetrics } from '@trinity-rft/monitor';
import type { CardEvaluation } from './model-card.js';

export interface RunFacts {
  /** Folder of the stage that wrote the checkpoint. */
  readonly stageDirectory: string;
  readonly jobDirectory: string;
  /** Settings of the stage, under the keys of the YAML. */
  readonly settings: Settings;
  /** `model.model_path` of the first stage. */
  readonly base: string | undefined;
  readonly step: number | undefined;
  readonly evaluations: readonly CardEvaluation[];
}

/** Undefined for a folder that is no checkpoint of a run. */
export async function runFactsOf(checkpoint: string): Promise<RunFacts | undefined> {
  const stageDirectory = path.dirname(path.resolve(checkpoint));
  const jobDirectory = [stageDirectory, path.dirname(stageDirectory)].find((folder) =>
    existsSync(path.join(folder, 'settings.json')),
  );
  const record = jobDirectory === undefined ? undefined : readRecord(jobDirectory);
  if (jobDirectory === undefined || record === undefined) return undefined;
  const name = path.basename(stageDirectory);
  const settings =
    record.stages.find((stage) => stage['stage_name'] === name) ?? record.stages.at(-1) ?? {};
  const step = (await readManifest(checkpoint))?.step;
  const base = record.stages[0]?.['model.model_path'];
  return {
    stageDirectory,
    jobDirectory,
    settings,
    base: typeof base === 'string' ? base : undefined,
    step,
    evaluations: step === undefined ? [] : await evaluationsOf(stageDirectory, step),
  };
}

/** `eval/SET/METRIC/mean@N`, recorded for the weights of a train step. */
const scorePattern = /^eval\/(.+)\/(reward|accuracy)\/mean@\d+$/;

/** Each set under one metric: its reward, else its accuracy. */
async function evaluationsOf(directory: string, step: number): Promise<readonly CardEvaluation[]> {
  const lines = await readMetrics(path.join(directory, 'monitor', 'metrics.jsonl'), []);
  const found = lines.findLast(({ metrics }) => metrics['eval/model_version'] === step);
  if (!found) return [];
  const { metrics } = found;
  const scores = Object.entries(metrics).flatMap(([key, value]) => {
    const [, set, metric] = scorePattern.exec(key) ?? [];
    if (set === undefined || metric === undefined || value === null) return [];
    const [low, high] = [metrics[`${key}/ci95_low`], metrics[`${key}/ci95_high`]];
    const interval = typeof low === 'number' && typeof high === 'number' ? { low, high } : undefined;
    return [{ set, metric, value, interval }];
  });
  return [...Map.groupBy(scores, ({ set }) => set).values()].flatMap(
    (each) => each.find(({ metric }) => metric === 'reward') ?? each.slice(0, 1),
  );
}

/** Licence of the base model: the `license` of its card, and its licence file. */
export async function licenseOf(
  folder: string | undefined,
): Promise<{ readonly id: string | undefined; readonly text: string | undefined }> {
  if (folder === undefined) return { id: undefined, text: undefined };
  const card = await textOf(path.join(folder, 'README.md'));
  const id = /^---[\s\S]*?^license:\s*["']?([\w.-]+)["']?\s*$[\s\S]*?^---/m.exec(card ?? '')?.[1];
  for (const name of ['LICENSE', 'LICENSE.txt', 'LICENSE.md']) {
    const text = await textOf(path.join(folder, name));
    if (text !== undefined) return { id, text };
  }
  return { id, text: undefined };
}

const textOf = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch(() => undefined);
