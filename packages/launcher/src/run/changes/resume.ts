/** What a changed configuration means for a run that it resumes. */
import type { ConfigProblem, ProblemAt, ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { configError, showValue } from '@trinity-rft/config/internal';
import { changesBetween, type Change } from './compare.js';
import { effectOf } from './effects.js';
import { readRecord, writeRecord, type SettingsRecord } from './record.js';
import { settingsOf } from '../../assembly/settings.js';

interface Resumed {
  readonly config: ResolvedConfig;
  /** Index of the stage in progress; the number of stages when all are done. */
  readonly latestStage: number;
  /** The folder is that of a run that was started before. */
  readonly hasBegun: boolean;
  readonly problemAt: ProblemAt;
}

/**
 * One line per setting that has changed since the run was last started, with its effect.
 * @throws ConfigError with the changes that would make it neither the old run nor the new one
 */
export function describeChanges({ config, latestStage, ...more }: Resumed): readonly string[] {
  const { jobDirectory, stages } = config;
  const { hasBegun, problemAt } = more;
  const record = readRecord(jobDirectory);
  if (record === undefined) return hasBegun ? [unknownSettings(jobDirectory)] : [];
  const problems: ConfigProblem[] = [];
  const lines = stages.flatMap((stage) => {
    const isDone = stage.stageIndex < Math.min(latestStage, stages.length - 1);
    return changesOf(stage, jobDirectory, record).map((change) => {
      const { text, refused } = isDone
        ? { text: 'takes no effect: the stage is complete', refused: change.key === 'stage_name' }
        : effectOf(change.key, stage.mode);
      if (refused) problems.push(refusal(stage, change, { text, problemAt }));
      return `${named(stage, change.key)}: ${showChange(change)} ${text}.`;
    });
  });
  if (problems.length > 0) throw configError(problems);
  return lines;
}

/** The stage has been opened before. */
export const isRecorded = (
  { jobDirectory }: ResolvedConfig,
  { stageIndex }: StageConfig,
): boolean => readRecord(jobDirectory)?.stages[stageIndex] !== undefined;

/** Called when a stage starts or resumes. Stages that are done keep the settings that made them. */
export function recordSettings({ jobDirectory, stages }: ResolvedConfig, stage: StageConfig): void {
  const before = readRecord(jobDirectory)?.stages ?? [];
  const begun = stages.slice(0, stage.stageIndex).map((each, i) => before[i] ?? settingsOf(each));
  writeRecord(jobDirectory, [...begun, settingsOf(stage)]);
}

function changesOf(
  stage: StageConfig,
  jobDirectory: string,
  record: SettingsRecord,
): readonly Change[] {
  const settings = record.stages[stage.stageIndex];
  if (settings === undefined) return [];
  return changesBetween(
    { jobDirectory: record.jobDirectory, settings },
    { jobDirectory, settings: settingsOf(stage) },
  );
}

interface Refusal {
  /** Why. */
  readonly text: string;
  readonly problemAt: ProblemAt;
}

function refusal(stage: StageConfig, change: Change, { text, problemAt }: Refusal): ConfigProblem {
  const path = change.key
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return problemAt(
    stage.stageIndex,
    path,
    `${showChange(change)} the run in ${stage.jobDirectory} has begun, and ${text}. Change it back, or give the new run another name.`,
  );
}

const unknownSettings = (jobDirectory: string): string =>
  `${jobDirectory} has no settings.json, so whether the configuration has changed since the run began is not known. It continues with the configuration as it is now.`;

const named = ({ stageName }: StageConfig, key: string): string =>
  stageName === undefined ? key : `${stageName}: ${key}`;

const showChange = ({ key, before, now }: Change): string => {
  const path = key.split('.');
  return `changed from ${showValue(before, path)} to ${showValue(now, path)}:`;
};
