/**
 * `trinity debug`: serves the model, runs a workflow once, or shows the experiences that the
 * workflow recorded.
 */
import { access, constants, readFile } from 'node:fs/promises';
import path from 'node:path';
import { shellText } from '@trinity-rft/core/support';
import type { DebugOptions } from '@trinity-rft/inspect';
import type { Command } from 'commander';
import type { AddCommand, Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { untilInterrupted } from '../shared/interrupt.js';
import {
  fileOf,
  pluginsOf,
  portOf,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';
import { assertOutput, writeOutput } from '../shared/output-file.js';
import { viewRecords } from './studio.js';
import { invalid, oneOf, refuseUnused } from '../shared/arguments.js';

interface DebugArguments extends FileOptions, PluginOptions {
  readonly module: string;
  readonly outputDir: string;
  readonly disableOverwrite?: boolean;
  readonly enableProfiling?: boolean;
  readonly newestCheckpoint?: boolean;
  /** Path of the profile's HTML page. */
  readonly outputFile?: string;
  readonly port?: string;
}

export const addDebug: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(withFile(program.command('debug')))
    .description(
      'try parts of a run separately: keep its model served, run its workflow once, look at what was recorded',
    )
    .requiredOption(
      '-m, --module <name>',
      'inference_model, workflow, or viewer, which shows the output directory and needs no file',
    )
    .option(
      '-o, --output-dir <directory>',
      'for the files of the workflow; a served model is found there too',
      'debug_output',
    )
    .option('--disable-overwrite', 'keep the files in the output directory: write to a new one')
    .option('--enable-profiling', 'also write a profile, as a page and as a Chrome trace')
    .option('--output-file <file>', 'also write a profile, as a page, to this file')
    .option(
      '--newest-checkpoint',
      'take the newest checkpoint of the run instead of the model it starts from',
    )
    .option('-p, --port <number>', 'of inference_model and viewer; 0 = any free port')
    .action(
      exitWith((file: string | undefined, given: DebugArguments, command: Command) => {
        const module = oneOf('--module', given.module, moduleNames);
        refuseUnused(command, `with --module ${module}`, ...modules[module].unused);
        return modules[module].run(file, given, write);
      }),
    );

interface DebugModule {
  readonly run: (file: string | undefined, given: DebugArguments, write: Write) => Promise<number>;
  /** Options that the module does not use. */
  readonly unused: readonly string[];
}

const ofWorkflow = ['--disable-overwrite', '--enable-profiling', '--output-file'];

const modules = {
  inference_model: { run: serveModel, unused: ofWorkflow },
  workflow: { run: runWorkflow, unused: ['--port'] },
  viewer: { run: viewExperiences, unused: [...ofWorkflow, '--newest-checkpoint'] },
} satisfies Readonly<Record<string, DebugModule>>;

const moduleNames = Object.keys(modules) as (keyof typeof modules)[];

const debugOptions = (file: string | undefined, given: DebugArguments): DebugOptions => ({
  configPath: fileOf('debug', file, given),
  ...pluginsOf(given),
  outputDirectory: given.outputDir,
  newestCheckpoint: given.newestCheckpoint,
});

async function serveModel(
  file: string | undefined,
  given: DebugArguments,
  write: Write,
): Promise<number> {
  const { serveDebugModel } = await import('@trinity-rft/inspect');
  const options = debugOptions(file, given);
  const served = await serveDebugModel({ ...options, port: portOf(given.port) });
  const { baseURL, apiKey, model, folder } = served;
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  try {
    write(
      `Serving ${folder} until Ctrl-C.

baseURL  ${baseURL}
apiKey   ${apiKey}

curl ${baseURL}/chat/completions -H 'Authorization: Bearer ${apiKey}' -H 'content-type: application/json' -d ${shellText(body)}

Try workflows with it: trinity debug ${options.configPath} --module workflow --output-dir ${given.outputDir}
`,
    );
    await untilInterrupted(served.engineFailed);
  } finally {
    await served.close();
  }
  return exitCodes.done;
}

/** Runs the workflow once, and returns exit code 1 if it failed. */
async function runWorkflow(
  file: string | undefined,
  given: DebugArguments,
  write: Write,
): Promise<number> {
  const { debugFiles, debugWorkflow, renderWorkflowDebug } = await import('@trinity-rft/inspect');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const { outputFile, disableOverwrite = false, enableProfiling = false } = given;
  if (outputFile !== undefined) await assertOutput('--output-file', outputFile);
  const report = await debugWorkflow({
    ...debugOptions(file, given),
    overwrite: !disableOverwrite,
    profile: enableProfiling || outputFile !== undefined,
  });
  const colour = standardTerminal().isTTY && !process.env['NO_COLOR'];
  write(renderWorkflowDebug(report, { colour }));
  if (outputFile !== undefined) {
    const profile = await readFile(path.join(report.outputDirectory, debugFiles.profile));
    await writeOutput('--output-file', outputFile, profile);
    write(`Written to ${outputFile}: the profile\n`);
  }
  return report.error ? exitCodes.failed : exitCodes.done;
}

/**
 * Shows the records in the output directory, whatever configuration is named.
 * @throws ConfigError if a configuration is named that cannot be read
 */
async function viewExperiences(
  file: string | undefined,
  given: DebugArguments,
  write: Write,
): Promise<number> {
  if (file !== undefined || given.config !== undefined) {
    const config = fileOf('debug', file, given);
    await access(config, constants.R_OK).catch((cause: unknown) => {
      throw invalid(
        `${config} cannot be read: ${(cause as Error).message}. The viewer needs no file: leave it out.`,
        cause,
      );
    });
  }
  const { debugFiles } = await import('@trinity-rft/inspect');
  return viewRecords(path.join(given.outputDir, debugFiles.experiences), given, write);
}
