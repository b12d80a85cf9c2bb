/** `trinity export`: writes a checkpoint for another runtime, and compares both. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TokenRow } from '@trinity-rft/core/engine';
import type { ExportOptions } from '@trinity-rft/export';
import type { Terminal } from '@trinity-rft/launcher';
import type { ModelPlace } from '@trinity-rft/local';
import { jsonText, type AddCommand, type Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { stoppable } from '../shared/interrupt.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';
import { invalid } from '../shared/arguments.js';

interface ExportArguments extends PluginOptions {
  readonly to?: string;
  readonly output?: string;
  readonly quantize?: string;
  readonly name?: string;
  readonly adapterOnly?: boolean;
  /** File with prompts for the check; `true` if the option is given without a file. */
  readonly check?: string | true;
  readonly promptKey?: string;
  readonly push?: string;
  readonly json?: boolean;
  /** True to compare rewards; false with `--no-rewards`. */
  readonly rewards: boolean;
}

export const addExport: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('export <model>'))
    .description(
      'write a trained model for Ollama, llama.cpp, transformers.js or the Hugging Face hub',
    )
    .option('--to <format>', 'gguf, ollama, transformersjs or hf')
    .option('-o, --output <folder>', 'folder to write, which does not exist or is empty')
    .option(
      '--quantize <numbers>',
      'number format; gguf, ollama: F32, F16, BF16, Q8_0, Q6_K, Q4_K_M; transformersjs: fp32, fp16, q8; hf: float32, bfloat16, float16. Default: Q8_0 (Q4_K_M from a billion weights), q8, bfloat16',
    )
    .option('--name <name>', 'name of the model; default: that of the run')
    .option('--adapter-only', 'the LoRA adapter without its model; gguf and hf')
    .option(
      '--check [file]',
      'play prompts on both sides: those of a JSON lines file, else six conversations; exit code 1 outside the limits',
    )
    .option('--no-rewards', 'with --check: do not evaluate the export on the tasks of the run')
    .option('--prompt-key <key>', 'where the rows of the --check file have their text')
    .option(
      '--push <repository>',
      'with --to hf: upload the folder to the hub, OWNER/NAME, unless --check fails; needs HF_TOKEN',
    )
    .option(
      '--json',
      'the report as JSON; with --push, `uploaded` is the address of the repository',
    )
    .addHelpText(
      'after',
      '\n<model> is the folder of a run (its best checkpoint by evaluation, else the last), a checkpoint, or a model folder.',
    )
    .action(
      exitWith((model: string, given: ExportArguments) => exportCommand(model, given, write)),
    );

/** Maximum number of recorded prompts that are compared in addition to the conversations. */
const mostRecorded = 16;

/**
 * Reads the recorded responses of the last evaluation of the checkpoint's stage: one per prompt, at
 * most {@link mostRecorded}.
 */
async function recordedAnswers({ location, run }: ModelPlace): Promise<readonly RecordedAnswer[]> {
  const { answersFile } = await import('@trinity-rft/launcher/files');
  const file = run && answersFile(run.stageDirectory);
  if (file === undefined || !existsSync(file)) return [];
  const { withReader } = await import('@trinity-rft/buffer');
  const { loadTokenizer } = await import('@trinity-rft/chat');
  const tokenizer = await loadTokenizer(location);
  const answers = new Map<string, RecordedAnswer>();
  withReader(file, (reader) => {
    for (const { tokens, promptLength } of reader.experiences()) {
      const prompt = tokenizer.decode(tokens.subarray(0, promptLength));
      answers.set(prompt, { prompt, row: { tokens, promptLength, temperature: 1 } });
      if (answers.size === mostRecorded) break;
    }
  });
  return [...answers.values()];
}

interface RecordedAnswer {
  readonly prompt: string;
  readonly row: TokenRow;
}

interface Surroundings {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly plugins: ReturnType<typeof pluginsOf>;
}

/**
 * Returns a function that evaluates an export with the evaluation sets of its run. Returns
 * undefined if the model is not from a run, the run has no evaluation sets, or its configuration
 * file is missing.
 */
async function rewardsOf(
  { run }: ModelPlace,
  { terminal, signal, plugins }: Surroundings,
): Promise<ExportOptions['compareRewards']> {
  if (run === undefined) return undefined;
  const { readSource } = await import('@trinity-rft/launcher/files');
  const configPath = await readSource(run.jobDirectory);
  if (configPath === undefined || !existsSync(configPath)) {
    terminal.write(
      `Rewards are not compared: the configuration of ${run.jobDirectory} is not there.\n`,
    );
    return undefined;
  }
  if (
    !Object.keys(run.settings).some((key) => key.startsWith('buffer.explorer_input.eval_tasksets'))
  )
    return undefined;
  const { evaluateRun } = await import('@trinity-rft/inspect');
  const shared = { configPath, ...plugins, terminal, signal, overridesName: 'trinity export' };
  // If a plugin of the workflow or reward is missing, this call fails, before the export starts.
  const { readConfiguration } = await import('@trinity-rft/launcher');
  await readConfiguration({ configPath, ...plugins, readsRun: true });
  return async (exported) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'trinity-export-'));
    try {
      const recorded = new Map(run.evaluations.map((score) => [score.set, score]));
      const step = String(run.step);
      const ours =
        recorded.size > 0 ? [] : (await evaluateRun({ ...shared, checkpoints: [step] })).sets;
      const other = { sampler: exported.sampler, label: 'export', directory };
      const { sets } = await evaluateRun({ ...shared, checkpoints: ['base'], other });
      return sets.flatMap(({ set, key, checkpoints }) => {
        const found = checkpoints[0];
        const before =
          recorded.get(set)?.value ?? ours.find((each) => each.set === set)?.checkpoints[0]?.mean;
        if (!found || before === undefined) return [];
        const { mean: value, interval, failedRuns } = found;
        return [{ set, metric: key, checkpoint: before, exported: value, interval, failedRuns }];
      });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  };
}

/**
 * Returns a terminal that discards its output, because standard output is reserved for the report.
 */
const silent = (terminal: Terminal): Terminal => ({ ...terminal, write: () => undefined });

async function exportCommand(model: string, given: ExportArguments, write: Write): Promise<number> {
  const { exportModel, formatNamed, pushFolder, readPrompts, readPush, renderExport } =
    await import('@trinity-rft/export');
  const { findModel } = await import('@trinity-rft/local');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const format = formatNamed(given.to);
  const { output: directory, check } = given;
  if (directory === undefined) throw invalid('-o is missing. Name the folder to write: -o DIR');
  if (given.push !== undefined && format !== 'hf') throw invalid('--push needs --to hf.');
  if (given.push !== undefined) readPush(given.push, process.env);
  if (check === undefined && !given.rewards) throw invalid('--no-rewards needs --check.');
  if (typeof check !== 'string' && given.promptKey !== undefined)
    throw invalid('--prompt-key needs --check FILE.');
  const prompts = typeof check === 'string' ? await readPrompts(check, given.promptKey) : undefined;
  const place = await findModel(model);
  const terminal = given.json === true ? silent(standardTerminal()) : standardTerminal();
  if (place.choice !== undefined) terminal.write(`${place.choice}\n`);
  let answers: ReturnType<typeof recordedAnswers> | undefined;
  const onProgress = (line: string): void => terminal.write(`${line}\n`);
  const recorded = () => (answers ??= recordedAnswers(place));
  const report = await stoppable(terminal, async (signal) =>
    exportModel({
      model: place,
      format,
      directory,
      quantize: given.quantize,
      name: given.name,
      adapterOnly: given.adapterOnly,
      check:
        check === undefined
          ? undefined
          : {
              prompts,
              recorded: check === true ? (await recorded()).map(({ prompt }) => prompt) : undefined,
            },
      recorded: async () => (await recorded()).map(({ row }) => row),
      compareRewards:
        check === undefined || !given.rewards
          ? undefined
          : await rewardsOf(place, { terminal, signal, plugins: pluginsOf(given) }),
      signal,
      onProgress,
    }),
  );
  if (report === undefined) return exitCodes.interrupted;
  if (given.json !== true) write(renderExport(report, directory));
  const isFaulty = report.check !== undefined && report.check.faults.length > 0;
  let uploaded: string | undefined;
  try {
    if (given.push !== undefined && isFaulty)
      terminal.write('Not uploaded: the check found differences outside the limits.\n');
    else if (given.push !== undefined) {
      const { push } = given;
      uploaded = await stoppable(
        terminal,
        (signal) => pushFolder(directory, push, process.env, { signal, onProgress }),
        `stopping the upload; ${directory} is complete`,
      );
      if (uploaded === undefined) return exitCodes.interrupted;
      terminal.write(`Uploaded: ${uploaded}\n`);
    }
  } finally {
    if (given.json === true) write(jsonText({ ...report, uploaded }));
  }
  return isFaulty ? exitCodes.failed : exitCodes.done;
}
