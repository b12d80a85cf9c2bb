/**
 * `trinity config check | schema | plan`: checks a configuration, or shows what a run would do,
 * without starting one.
 */
import { text } from 'node:stream/consumers';
import type { ConfigProblem, LoadedConfig } from '@trinity-rft/config';
import type { CheckedFiles, ModelDownloads } from '@trinity-rft/launcher';
import { jsonText, type AddCommand, type Write } from '../shared/command.js';
import { exitCodes, toFailure } from '../shared/exit-codes.js';
import {
  fileOf,
  pluginsOf,
  readVocabulary,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';

interface ConfigArguments extends FileOptions, PluginOptions {
  readonly json?: boolean;
}

interface PlanArguments extends ConfigArguments {
  readonly stdin?: boolean;
}

export const addConfig: AddCommand = (program, { exitWith, write }) => {
  const config = program
    .command('config')
    .description('look at a configuration without running it');
  withPlugins(withFile(config.command('check')))
    .description('every error and warning, with its place and how to fix it')
    .option('--json', 'errors and warnings as JSON')
    .action(
      exitWith(async (named: string | undefined, given: ConfigArguments) => {
        const file = fileOf('config check', named, given);
        if (given.json === true)
          return answerAsJson(file, write, async () => {
            const { warnings, devices } = await load(file, given);
            return devices.length > 0 ? { devices, warnings } : { warnings };
          });
        const { renderProblem } = await import('@trinity-rft/config');
        const { warnings, devices } = await load(file, given);
        for (const line of [...warnings.map(renderProblem), ...devices]) write(`${line}\n`);
        const count = warnings.length;
        const counted = count === 0 ? '' : `, ${count} warning${count > 1 ? 's' : ''}`;
        write(`${file}: no errors${counted}.\n`);
        return exitCodes.done;
      }),
    );
  withPlugins(config.command('schema'))
    .description('the JSON Schema, for editors')
    .action(
      exitWith(async (given: PluginOptions) => {
        const { configJsonSchema } = await import('@trinity-rft/config');
        const schema = configJsonSchema(await readVocabulary(given));
        write(jsonText(schema));
        return exitCodes.done;
      }),
    );
  withPlugins(withFile(config.command('plan')))
    .description('what would run: stages, steps, batches, memory, files')
    .option('--json', 'errors, warnings and the plan as JSON')
    .option('--stdin', 'read the text from standard input, as an editor has it')
    .action(
      exitWith(async (named: string | undefined, given: PlanArguments) => {
        const file = fileOf('config plan', named, given);
        const stdin = given.stdin === true ? await text(process.stdin) : undefined;
        if (given.json === true) return answerAsJson(file, write, () => planOf(file, given, stdin));
        const { warnings, plan } = await planOf(file, given, stdin);
        const { renderProblem } = await import('@trinity-rft/config');
        write(`${[...warnings.map(renderProblem), plan].join('\n')}\n`);
        return exitCodes.done;
      }),
    );
};

interface Answer {
  readonly warnings: readonly ConfigProblem[];
}

interface Planned extends Answer {
  /** The plan as text for people. */
  readonly plan: string;
  readonly jobDirectory: string;
}

async function planOf(file: string, given: PluginOptions, stdin?: string): Promise<Planned> {
  const { loaded, files, devices, warnings } = await load(file, given, stdin);
  const { planConfig, renderPlan } = await import('@trinity-rft/config');
  const { config: planned, lines } = await downloads(loaded);
  const { rows, pipelines, graders } = files;
  const options = { rows, pipelines, graders, file, env: process.env };
  return {
    warnings: [...warnings, ...lines.map((line) => outsideOf(file, line))],
    plan: [renderPlan(planConfig(planned, options)), ...devices].join('\n'),
    jobDirectory: loaded.config.jobDirectory,
  };
}

/** Creates a problem that belongs to the file as a whole, not to a line. */
const outsideOf = (file: string, message: string): ConfigProblem => ({
  ...{ file, line: 0, column: 0, key: '' },
  message,
});

/**
 * Calls `work` and writes its result as one line of JSON. If `work` throws, writes the errors with
 * their positions in the same form. Returns the exit code of the command.
 */
async function answerAsJson(
  file: string,
  write: Write,
  work: () => Promise<Answer>,
): Promise<number> {
  const { problemsOf, reportProblem } = await import('@trinity-rft/config');
  try {
    const { warnings, ...answer } = await work();
    const said = { errors: [], warnings: warnings.map(reportProblem), ...answer };
    write(`${JSON.stringify(said)}\n`);
    return exitCodes.done;
  } catch (error) {
    const known = problemsOf(error);
    const { message, exitCode } = toFailure(error);
    const errors = (known.length > 0 ? known : [outsideOf(file, message)]).map(reportProblem);
    write(`${JSON.stringify({ errors, warnings: [] })}\n`);
    return exitCode;
  }
}

interface Checked extends Answer {
  readonly loaded: LoadedConfig;
  readonly files: CheckedFiles;
  /** One line per stage with `model.device: auto`: the chosen device, and the reason. */
  readonly devices: readonly string[];
}

/** Time in ms without data from the hub after which `config plan` gives up. */
const longestSilence = 15_000;

async function downloads({ config }: LoadedConfig): Promise<ModelDownloads> {
  const { planDownloads } = await import('@trinity-rft/launcher');
  const { systemClock } = await import('@trinity-rft/core');
  const report = (line: string): void => void process.stderr.write(`${line}\n`);
  const { env } = process;
  return planDownloads(config, { env, clock: systemClock, stallMs: longestSilence, report });
}

/** Reads a configuration with all plugins, and checks the files that the configuration names. */
async function load(configPath: string, given: PluginOptions, text?: string): Promise<Checked> {
  const { checkFiles, checkResume, planDevices, readConfiguration } =
    await import('@trinity-rft/launcher');
  const read = { configPath, text, ...pluginsOf(given) };
  const { loaded, ...extensions } = await readConfiguration(read);
  const { signal } = new AbortController();
  try {
    const files = await checkFiles(loaded, extensions, { measure: true, signal });
    const changes = await checkResume(loaded, extensions, files);
    const devices = await planDevices(loaded.config, extensions.engines);
    const warnings = [
      ...loaded.warningProblems,
      ...files.warningProblems,
      ...changes.map((line) => outsideOf(configPath, line)),
    ];
    return { loaded, files, devices, warnings };
  } finally {
    await extensions.environments.close();
  }
}
