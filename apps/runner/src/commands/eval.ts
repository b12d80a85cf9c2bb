/** `trinity eval`: evaluates checkpoints of a run, and compares them task by task. */
import { appendFile, readFile, stat } from 'node:fs/promises';
import type { ConfigError } from '@trinity-rft/core';
import { boundary } from '@trinity-rft/core/support';
import type { Evaluation } from '@trinity-rft/inspect';
import { jsonText, type AddCommand, type Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible } from '../shared/interrupt.js';
import {
  fileOf,
  pluginsOf,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';
import { assertOutput, writeOutput } from '../shared/output-file.js';
import { invalid, numberOf } from '../shared/arguments.js';

interface EvalArguments extends FileOptions, PluginOptions {
  readonly checkpoints: string;
  readonly json?: string;
  readonly baseline?: string;
  readonly junit?: string;
  readonly markdown?: string;
  readonly failBelow: readonly string[];
  readonly failOnRegression?: string | true;
}

export const addEval: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(withFile(program.command('eval')))
    .description('evaluate checkpoints of a run: scores with intervals, compared task by task')
    .option(
      '--checkpoints <names>',
      'base (before training), last, best (of all checkpoints), numbers of train steps',
      'base,last',
    )
    .option('--json <file>', 'write scores, differences and every task as JSON as well')
    .option(
      '--baseline <run>',
      'compare the last checkpoint with another run, checkpoint or model folder, evaluated now on the same tasks, or with the file of an earlier --json; not with the first one',
    )
    .option('--junit <file>', 'write JUnit XML: a test case for each task, failed below 0.5')
    .option(
      '--markdown <file>',
      'write a summary with the tasks that changed most; also into GITHUB_STEP_SUMMARY',
    )
    .option(
      '--fail-below <metric=mean>',
      'end with 4 when the mean of the last checkpoint is below it; may be repeated',
      (text: string, all: readonly string[]) => [...all, text],
      [],
    )
    .option(
      '--fail-on-regression [margin]',
      'end with 4 when the last checkpoint is worse than the baseline by more than the margin, with 95 % confidence',
    )
    .addHelpText(
      'after',
      '\nThe answers are shown by "trinity log RUN --answers" and in the studio.',
    )
    .action(
      exitWith((file: string | undefined, given: EvalArguments) => evalCommand(file, given, write)),
    );

async function evalCommand(
  file: string | undefined,
  given: EvalArguments,
  write: Write,
): Promise<number> {
  const configPath = fileOf('eval', file, given);
  const checkpoints = given.checkpoints.split(',').map((name) => name.trim());
  const expectations = readExpectations(given, checkpoints);
  const named = given.baseline === undefined ? undefined : await findBaseline(given.baseline);
  for (const name of ['json', 'junit', 'markdown'] as const) {
    const output = given[name];
    if (output !== undefined) await assertOutput(`--${name}`, output);
  }
  const inspect = await import('@trinity-rft/inspect');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  const options = { configPath, ...pluginsOf(given), overridesName: 'trinity eval', terminal };
  const { evaluated, model } = named ?? {};
  const evaluation = await interruptible(
    terminal,
    (signal) => inspect.evaluateRun({ ...options, signal, checkpoints, baseline: model }),
    'stopping; no file is written',
  );
  write(inspect.renderEvaluation(evaluation));
  if (evaluation.interrupted) return exitCodes.interrupted;
  // Before the baseline is evaluated, which may fail.
  if (given.json !== undefined) await writeOutput('--json', given.json, jsonText(evaluation));
  if (given.junit !== undefined)
    await writeOutput('--junit', given.junit, inspect.renderJUnit(evaluation));
  const baseline =
    model === undefined
      ? evaluated
      : await interruptible(
          terminal,
          (signal) => inspect.evaluateModel(model, { ...options, signal }),
          'stopping; nothing is compared',
        );
  if (baseline?.interrupted) return exitCodes.interrupted;
  const comparisons = inspect.compareEvaluations(evaluation, baseline);
  if (named) write(inspect.renderComparisons(named.name, comparisons));
  const summary = inspect.renderMarkdown(evaluation, comparisons);
  if (given.markdown !== undefined) await writeOutput('--markdown', given.markdown, summary);
  const stepSummary = process.env['GITHUB_STEP_SUMMARY'];
  if (stepSummary) await appendFile(stepSummary, summary);
  if (expectations.margin !== undefined && !baseline)
    for (const { checkpoints: compared } of evaluation.sets)
      if (compared.length === 1) throw nothingToCompare(given.checkpoints);
  const unmet = inspect.unmetExpectations(evaluation, comparisons, expectations);
  for (const sentence of unmet) write(`${sentence}\n`);
  return unmet.length === 0 ? exitCodes.done : exitCodes.belowExpectation;
}

/**
 * Reads the expectations of `--fail-below` and `--fail-on-regression`.
 * @throws ConfigError for a malformed value, or for `--fail-on-regression` with nothing to compare
 */
function readExpectations(
  { failBelow, failOnRegression, baseline, checkpoints: named }: EvalArguments,
  checkpoints: readonly string[],
) {
  const lowest = failBelow.map((given) => {
    const [, metric, mean] = /^([^=]+)=(-?[\d.]+(?:e-?\d+)?)$/.exec(given) ?? [];
    if (metric === undefined || !Number.isFinite(Number(mean)))
      throw wrong('--fail-below', given, 'a metric and its lowest mean, as accuracy=0.8');
    return [metric, Number(mean)] as const;
  });
  const margin =
    failOnRegression === undefined
      ? undefined
      : numberOf('--fail-on-regression', failOnRegression === true ? '0' : failOnRegression);
  const isOne = new Set(checkpoints).size === 1 && checkpoints[0] !== 'best';
  if (margin !== undefined && baseline === undefined && isOne) throw nothingToCompare(named);
  return { lowest: new Map(lowest), margin };
}

const nothingToCompare = (named: string): ConfigError =>
  invalid(
    `--fail-on-regression compares, and --checkpoints "${named}" is one checkpoint. Name two, or a --baseline.`,
  );

const wrong = (option: string, given: string, expected: string): ConfigError =>
  invalid(`${option} is "${given}"; expected ${expected}.`);

interface Baseline {
  readonly name: string;
  /** Result of an earlier evaluation; undefined if `model` must be evaluated. */
  readonly evaluated?: Evaluation;
  /** Folder or GGUF file of a model to evaluate. */
  readonly model?: string;
}

/**
 * Resolves `--baseline` to a model or to an earlier evaluation.
 * @throws ConfigError if the name is neither a model nor a file written by `trinity eval --json`
 */
async function findBaseline(named: string): Promise<Baseline> {
  const { isGguf } = await import('@trinity-rft/chat/gguf');
  const isFolder = (await stat(named).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder && !isGguf(named)) return { name: named, evaluated: await readBaseline(named) };
  const { findModel } = await import('@trinity-rft/local');
  const { location, choice } = await findModel(named);
  return { name: choice === undefined ? named : `${named}. ${choice}`, model: location };
}

/**
 * Reads an earlier evaluation.
 * @throws ConfigError if the file was not written by `trinity eval --json`
 */
async function readBaseline(file: string): Promise<Evaluation> {
  const { isEvaluation } = await import('@trinity-rft/inspect');
  const baseline = await boundary(
    (cause) => otherBaseline(file, cause),
    async () => JSON.parse(await readFile(file, 'utf8')) as unknown,
  );
  if (!isEvaluation(baseline)) throw otherBaseline(file);
  if (!baseline.interrupted) return baseline;
  throw invalid(
    `--baseline is "${file}", an evaluation that was interrupted. Write it again with trinity eval --json.`,
  );
}

const otherBaseline = (file: string, cause?: unknown): ConfigError =>
  invalid(
    `--baseline is "${file}"; expected the folder of a run or a model, or a file that trinity eval --json has written.`,
    cause,
  );
