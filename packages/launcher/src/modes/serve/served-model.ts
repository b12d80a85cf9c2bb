/** Describes the served model: training run, train step, checkpoint and last evaluation. */
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { listCheckpoints } from '@trinity-rft/trainer';
import { readMetrics } from '@trinity-rft/monitor';

type Stage = Pick<StageConfig, 'project' | 'name' | 'jobDirectory'> & {
  readonly model: Pick<StageConfig['model'], 'modelPath'>;
  readonly explorer: { readonly rolloutModel: { readonly name?: string | undefined } };
};

export const runOf = ({ project, name }: Pick<Stage, 'project' | 'name'>): string =>
  `${project}/${name}`;

/** Returns the name by which clients call the model. */
export const servedName = (stage: Stage): string =>
  stage.explorer.rolloutModel.name ?? runOf(stage);

/** Returns a description of the served model for the user who starts a server. */
export async function describeServed(stage: Stage, step: number): Promise<string> {
  const { jobDirectory, model } = stage;
  const name = `Model: ${servedName(stage)}`;
  if (step === 0)
    return `${name}, NOT TRAINED: the weights of ${model.modelPath}. ${jobDirectory} has no checkpoint after step 0.`;
  const checkpoints = await listCheckpoints(jobDirectory);
  const found = checkpoints.findLast(({ manifest }) => manifest.step === step);
  const from = found ? ` (${found.directory})` : '';
  return `${name}, train step ${step}${from}. ${await lastEvaluation(jobDirectory, step)}`;
}

const meanReward = /^(?:eval|bench)\/.*\/reward\/mean(@\d+)?$/;

async function lastEvaluation(jobDirectory: string, step: number): Promise<string> {
  const lines = await readMetrics(path.join(jobDirectory, 'monitor', 'metrics.jsonl'), []);
  const evaluated = lines.flatMap((line) => {
    const means = Object.entries(line.metrics).filter(([metric]) => meanReward.test(metric));
    const version = line.metrics['eval/model_version'] ?? line.step;
    return means.length > 0 && version <= step ? [{ version, means }] : [];
  });
  // `trinity eval` evaluates older checkpoints as well.
  const last = evaluated.toSorted((a, b) => a.version - b.version).at(-1);
  if (!last) return 'It has not been evaluated.';
  const means = last.means.map(
    ([metric, value]) =>
      `${metric} ${value === null ? 'not finite' : Number(value.toPrecision(4))}`,
  );
  return `Evaluated after step ${last.version}: ${means.join(', ')}.`;
}
