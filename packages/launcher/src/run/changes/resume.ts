/**
 * Describes what has changed in a configuration and its files since the training run was last
 * started.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ConfigProblem, ProblemAt, ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { configError, showValue } from '@trinity-rft/config/internal';
import { parseModelId } from '@trinity-rft/core/support';
import { changesBetween, type Change } from './compare.js';
import { effectOf } from './effects.js';
import { changedInputs, isBinding, ofModels, type Inputs } from './inputs.js';
import { trainingRecord, writeRecord, type SettingsRecord } from './record.js';
import { isDerived, settingsOf, type Settings } from '../../assembly/settings.js';

interface Resumed {
  readonly config: ResolvedConfig;
  /** Index of the stage that the training run continues with. */
  readonly from: number;
  /** True if the folder belongs to a training run that was started before. */
  readonly hasBegun: boolean;
  readonly problemAt: ProblemAt;
}

/**
 * Returns one line for each setting that has changed since the training run was last started, with
 * the effect of the change.
 * @throws ConfigError with the changes that prevent the training run from continuing
 */
export function describeChanges({ config, from, ...more }: Resumed): readonly string[] {
  const { jobDirectory, stages } = config;
  const { hasBegun, problemAt } = more;
  const record = trainingRecord(jobDirectory);
  if (record === undefined)
    return hasBegun && stages.some(hasMetrics) ? [unknownSettings(jobDirectory)] : [];
  const problems: ConfigProblem[] = [];
  const lines = stages.flatMap((stage) => {
    const isDone = stage.stageIndex < from;
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

/** Returns true if the stage was opened, so that its settings were recorded. */
const hasMetrics = ({ monitor }: StageConfig): boolean =>
  existsSync(path.join(monitor.directory, 'metrics.jsonl'));

interface ReadAgain extends Pick<Resumed, 'config' | 'problemAt'> {
  readonly stage: StageConfig;
  readonly inputs: Inputs;
  /** True if the user accepts that the contents of files have changed. */
  readonly isAccepted: boolean;
}

/**
 * Returns one line for each file that has changed since the stage was last started.
 * @throws ConfigError with the changed files that prevent the training run from continuing
 */
export function describeInputs({ config, stage, ...more }: ReadAgain): readonly string[] {
  const { inputs, isAccepted, problemAt } = more;
  const record = trainingRecord(config.jobDirectory);
  const before = record?.inputs?.[stage.stageIndex];
  if (!record || !before) return [];
  const settings = settingsOf(stage);
  const chosenAnew = changesOf(stage, config.jobDirectory, record).map(({ key }) => key);
  const changed = changedInputs(before, inputs)
    .filter((key) => isRead(key, stage))
    .filter((key) => !isChosenAnew(key, chosenAnew) && !isUnfetched(settingOf(key), settings));
  const problems = changed
    .filter((key) => isBinding(key) && !isAccepted)
    .map((key) =>
      problemAt(
        stage.stageIndex,
        keyPathOf(settingOf(key)),
        `${whatChanged(key, settings)} changed since the run in ${stage.jobDirectory} was last started: it would be neither that run nor a new one. Put back what it was, give the new run another name, or continue with trinity run --accept-changed-files${
          isTaskset(key) ? ', which after the first step needs as many rows as before' : ''
        }.`,
      ),
    );
  if (problems.length > 0) throw configError(problems);
  return changed.map(
    (key) =>
      `${named(stage, settingOf(key))}: ${whatChanged(key, settings)} changed since the run was last started; from here on it works with what is there now.`,
  );
}

const isTaskset = (key: string): boolean => key.startsWith('buffer.explorer_input.tasksets[');

const settingOf = (key: string): string => key.split('/')[0] ?? key;

/**
 * Returns true if the settings now name another file, or another part of the file. This is a change
 * of settings, not of contents.
 */
function isChosenAnew(key: string, changed: readonly string[]): boolean {
  const item = settingOf(key).replace(/\.path$/, '');
  const selects =
    /^\.(?:path|split|subset_name|table|query|storage_type|task_\w+|workflow_args\..*)$/;
  return changed.some(
    (each) =>
      each === settingOf(key) || (each.startsWith(item) && selects.test(each.slice(item.length))),
  );
}

function whatChanged(key: string, settings: Settings): string {
  const [setting = '', ...file] = key.split('/');
  const value = settings[setting];
  if (setting === 'plugins') return `the plugin ${file.join('/')} has`;
  if (typeof value !== 'string' || value === '') return 'the tasks that it generates have';
  return `the contents of ${[value, ...file].join('/')} have`;
}

/** Returns true if the stage was started before. */
export const isRecorded = (
  { jobDirectory }: ResolvedConfig,
  { stageIndex }: StageConfig,
): boolean => trainingRecord(jobDirectory)?.stages[stageIndex] !== undefined;

/**
 * Records the settings of a stage that starts or resumes. Other stages that have begun keep their
 * recorded settings, and a training run that is served those of its tasks.
 */
export function recordSettings(
  { jobDirectory, stages }: ResolvedConfig,
  stage: StageConfig,
  inputs: Inputs,
): void {
  const before = trainingRecord(jobDirectory);
  const begun = stages.slice(0, stage.stageIndex);
  const later = <T>(all: readonly T[] = []): readonly T[] =>
    all.slice(stage.stageIndex + 1, stages.length);
  const unread = <T>(recorded: Readonly<Record<string, T>> = {}): Readonly<Record<string, T>> =>
    Object.fromEntries(Object.entries(recorded).filter(([key]) => !isRead(key, stage)));
  writeRecord({
    jobDirectory,
    stages: [
      ...begun.map((each, i) => before?.stages[i] ?? settingsOf(each)),
      { ...unread(before?.stages[stage.stageIndex]), ...settingsOf(stage) },
      ...later(before?.stages),
    ],
    inputs: [
      ...begun.map((_, i) => before?.inputs?.[i] ?? {}),
      { ...unread(before?.inputs?.[stage.stageIndex]), ...inputs },
      ...later(before?.inputs),
    ],
  });
}

/** Returns false for a setting of tasks in mode `serve`, which has none, and for their files. */
const isRead = (key: string, { mode }: Pick<StageConfig, 'mode'>): boolean =>
  mode !== 'serve' || !key.startsWith('buffer.explorer_input.');

/** Returns the inputs that the stage had when it was last started. */
export const recordedInputs = (
  { jobDirectory }: ResolvedConfig,
  { stageIndex }: StageConfig,
): Inputs | undefined => trainingRecord(jobDirectory)?.inputs?.[stageIndex];

function changesOf(
  stage: StageConfig,
  jobDirectory: string,
  record: SettingsRecord,
): readonly Change[] {
  const settings = record.stages[stage.stageIndex];
  if (settings === undefined) return [];
  const now = settingsOf(stage);
  return (
    changesBetween({ jobDirectory: record.jobDirectory, settings }, { jobDirectory, settings: now })
      .filter(({ key }) => isRead(key, stage))
      // Tasks that a training run has first when it was only served before.
      .filter(({ key }) => hasTasks(settings) || isRead(key, { mode: modeIn(settings) }))
      .filter((change) => !isOnlyUnfetched(change, now, settings))
      .filter((change) => stage.mode !== 'both' || !followsExploreStep(change, now, settings))
      // Earlier versions also recorded settings that are derived.
      .filter(({ key }) => !isDerived(key))
  );
}

const hasTasks = (settings: Settings): boolean =>
  Object.keys(settings).some((key) => key.startsWith('buffer.explorer_input.tasksets['));

const modeIn = (settings: Settings): StageConfig['mode'] => settings['mode'] as StageConfig['mode'];

/**
 * Returns true if the change is that of a train batch whose size is that of an explore step, as it
 * is by default. In mode `both`, the change of the explore step is reported.
 */
function followsExploreStep(
  { key, before, now: after }: Change,
  now: Settings,
  recorded: Settings,
): boolean {
  const sizeIn = (settings: Settings): number =>
    Number(settings['buffer.batch_size']) *
    (settings['buffer.train_batch_unit'] === 'tasks'
      ? 1
      : Number(settings['algorithm.repeat_times']));
  return key === 'buffer.train_batch_size' && before === sizeIn(recorded) && after === sizeIn(now);
}

/** Returns true if the setting names a model that is not in the cache. */
const isUnfetched = (key: string, { [key]: value }: Settings): boolean =>
  ofModels.test(key) && typeof value === 'string' && parseModelId(value) !== undefined;

/**
 * Returns true if the only change is that the model, which a training run fetches again, is no
 * longer in the cache. The record has the path of the model in the cache, the id as the name of the
 * model, and the layers of its adapter.
 */
function isOnlyUnfetched(
  { key, before, now }: Change,
  settings: Settings,
  recorded: Settings,
): boolean {
  const id = settings['model.hub_id'];
  if (key === 'explorer.rollout_model.name')
    return now === undefined && id !== undefined && before === id;
  if (/^model\.lora_configs\[0\]\.(?:target|exclude)_modules$/.test(key))
    return settings['model.lora_configs[0].exclude_modules'] !== undefined;
  if (!isUnfetched(key, settings) || typeof before !== 'string') return false;
  if (key === 'model.model_path') return recorded['model.hub_id'] === id;
  const { repository = '' } = parseModelId(String(now)) ?? {};
  return before.split(/[/\\]/).includes(`models--${repository.replace('/', '--')}`);
}

interface Refusal {
  /** Reason why the change is refused, which follows "the run has begun, and" in the message. */
  readonly text: string;
  readonly problemAt: ProblemAt;
}

function refusal(stage: StageConfig, change: Change, { text, problemAt }: Refusal): ConfigProblem {
  // The default follows from other settings, so that the file may not have the key.
  const back =
    change.key === 'buffer.train_batch_size'
      ? `Set ${change.key}: ${showValue(change.before, [change.key])} to continue as it began`
      : 'Change it back';
  return problemAt(
    stage.stageIndex,
    keyPathOf(change.key),
    `${showChange(change)} the run in ${stage.jobDirectory} has begun, and ${text}. ${back}, or give the new run another name.`,
  );
}

const keyPathOf = (key: string): readonly (string | number)[] =>
  key
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));

const unknownSettings = (jobDirectory: string): string =>
  `${jobDirectory} has no settings.json, so whether the configuration has changed since the run began is not known. It continues with the configuration as it is now.`;

const named = ({ stageName }: StageConfig, key: string): string =>
  stageName === undefined ? key : `${stageName}: ${key}`;

const showChange = ({ key, before, now }: Change): string => {
  const at = key.split('.');
  return `changed from ${showValue(before, at)} to ${showValue(now, at)}:`;
};
