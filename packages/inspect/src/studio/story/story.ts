/** Story of a run: verdict, causes, and next steps. */
import { checkpointSteps } from '@trinity-rft/core/engine';
import { readSource } from '@trinity-rft/launcher/files';
import { benchmarkScores, diagnose, evaluationChanges, verdictOf } from '../../diagnosis/index.js';
import { pairedRewards, readAnswers } from '../../report/answers.js';
import { toFinding } from '../insight/diagnosis.js';
import { withRecord } from '../insight/record.js';
import type { RunSettings, Story } from '../interface/types.js';
import { tokenizerFolder } from '../runs/place.js';
import type { Run } from '../runs/run.js';
import { settingsOf } from '../runs/settings.js';
import { jobFolder } from '../runs/state.js';
import { actionsOf, shellPath } from './actions.js';
import { answerPairs, noAnswersText } from './answers.js';
import { chartsOf } from './charts.js';
import { costOf, timeOf } from './cost.js';
import { evaluationsOf, storyVerdict } from './verdict.js';

/** Reads the story from the files of the run, which may still be in progress. */
export async function storyOf(run: Run): Promise<Story> {
  const { place, metrics } = run;
  const settings = await settingsOf(place.folder);
  const answered = await readAnswers(place.folder, await tokenizerFolder(place));
  const pairedOf = pairedRewards(answered);
  const { findings, changes, seen, scores, hasRollouts } = await withRecord(run, (record) => ({
    findings: diagnose(record).map(toFinding),
    changes: evaluationChanges(record, pairedOf),
    seen: verdictOf(record, pairedOf),
    scores: benchmarkScores(record),
    hasRollouts: record.rollouts.length > 0,
  }));
  const summary = await run.summary();
  const folder = await jobFolder(place.folder);
  // Leaves out the finding about a failure, which the verdict already reports.
  const shown = findings
    .filter(({ name }) => name !== 'run-failed')
    .map((each) => ({ ...each, advice: each.advice.replaceAll(/\bRUN\b/g, shellPath(folder)) }));
  const verdict = storyVerdict(summary, seen, scores);
  const time = await timeOf(metrics);
  return {
    name: place.id,
    folder: place.folder,
    state: summary.state,
    steps: summary.steps,
    changedAt: summary.changedAt,
    setup: setupOf(settings),
    verdict,
    evaluations: evaluationsOf(changes),
    ...(await chartsOf(metrics, seen?.evaluation)),
    answers: [...answerPairs(answered)],
    noAnswers: noAnswersText(answered),
    findings: shown,
    cost: await costOf(metrics, settings, time),
    time: [...time],
    actions: [
      ...actionsOf({
        verdict: verdict.kind,
        folder,
        configPath: await readSource(folder),
        mode: textOf(settings['mode']),
        algorithm: textOf(settings['algorithm.algorithm_type']),
        isExternal: 'external.name' in settings,
        hasCheckpoint: (await checkpointSteps(place.folder)).length > 0,
        hasRollouts,
        hasEvaluationSets: 'buffer.explorer_input.eval_tasksets[0].name' in settings,
        learningRate: numberOf(settings['algorithm.optimizer.lr']),
        finding: shown[0],
      }),
    ],
  };
}

/**
 * Settings that the story shows. With `forTasks` true, a setting is shown only for runs with tasks;
 * with false, only for runs without tasks.
 */
const setup: readonly (readonly [name: string, key: string, forTasks?: boolean])[] = [
  ['model', 'model.model_path'],
  ['algorithm', 'algorithm.algorithm_type'],
  ['learning rate', 'algorithm.optimizer.lr'],
  ['tasks per step', 'buffer.batch_size', true],
  ['attempts per task', 'algorithm.repeat_times', true],
  ['train batch size', 'buffer.train_batch_size', false],
  ['seed', 'seed'],
];

function setupOf(settings: RunSettings): Story['setup'] {
  const hasTasks = settings['mode'] !== 'train' && settings['mode'] !== 'serve';
  return setup.flatMap(([name, key, forTasks = hasTasks]) => {
    const value = forTasks === hasTasks ? textOf(settings[key]) : undefined;
    return value === undefined ? [] : [{ name, value }];
  });
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined;
