/** Diagnoses a run stage by stage, from the files in its folder. */
import { withReader } from '@trinity-rft/buffer';
import path from 'node:path';
import {
  changeIn,
  diagnose,
  metricsOf,
  newestRollouts,
  renderFindings,
  runsOf,
  type Finding,
  verdictOf,
  type RolloutFacts,
  type RunRecord,
  type Verdict,
} from '../diagnosis/index.js';
import { isExploreStep } from '@trinity-rft/monitor';
import type { ConfigurationOptions } from '@trinity-rft/launcher';
import { databasesIn } from '../verify/folder.js';
import { pairedRewards, readAnswers } from './answers.js';
import { lastTrained, reportRun, type RunReport, type StageReport } from './run-report.js';

interface StageDiagnosis {
  /** Folder of the stage. */
  readonly directory: string;
  readonly exploreSteps: number;
  readonly trainSteps: number;
  /** Number of rollouts that were examined: the newest recorded ones. */
  readonly rollouts: number;
  readonly findings: readonly Finding[];
}

export interface RunDiagnosis {
  readonly jobDirectory: string;
  readonly stages: readonly StageDiagnosis[];
}

/**
 * Diagnoses a run from its metrics, rollouts, logs and failures. Writes nothing. Also works while
 * the run continues.
 * @param run a configuration, or the folder of a run
 * @throws ConfigError when there is no such run
 */
export async function diagnoseRun(
  run: string,
  options: Omit<ConfigurationOptions, 'configPath'> = {},
): Promise<RunDiagnosis> {
  const { jobDirectory, stages } = await reportRun(run, options);
  return { jobDirectory, stages: await Promise.all(stages.map(diagnoseStage)) };
}

/** Returns the verdict on the last stage of a run that trained. */
export async function verdictOfRun(report: RunReport): Promise<Verdict | undefined> {
  const last = lastTrained(report);
  if (!last) return undefined;
  const answers = await readAnswers(last.directory);
  return verdictOf(await recordOf(last), pairedRewards(answers));
}

async function recordOf({ directory, metrics, log, failure }: StageReport): Promise<RunRecord> {
  const rollouts = await rolloutsIn(directory);
  return { ...metricsOf(metrics), rollouts, failure, changes: log.flatMap(changeIn) };
}

async function diagnoseStage(stage: StageReport): Promise<StageDiagnosis> {
  const { directory, metrics } = stage;
  const record = await recordOf(stage);
  return {
    directory,
    exploreSteps: metrics.filter(isExploreStep).length,
    trainSteps: metrics.filter(({ role }) => role === 'trainer').length,
    rollouts: runsOf(record.rollouts).length,
    findings: diagnose(record),
  };
}

async function rolloutsIn(directory: string): Promise<readonly RolloutFacts[]> {
  const databases = await databasesIn(directory);
  return databases.flatMap((database) => withReader(database, newestRollouts));
}

/** Renders a diagnosis for a terminal. */
export function renderDiagnosis({ jobDirectory, stages }: RunDiagnosis): string {
  const parts = stages.map((stage) => {
    const { directory, exploreSteps, trainSteps, rollouts, findings } = stage;
    const name = directory === jobDirectory ? '' : `stage ${path.basename(directory)}: `;
    const seen = `${exploreSteps} explore steps, ${trainSteps} train steps, ${rollouts} newest rollouts`;
    return `${name}${seen}\n\n${renderFindings(findings)}`;
  });
  return `${jobDirectory}\n\n${parts.join('\n')}`;
}
