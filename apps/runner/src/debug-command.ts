/**
 * `trinity debug`: the model kept loaded, one attempt of a workflow, or a page over what the
 * attempt recorded.
 */
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import {
  debugFiles,
  debugWorkflow,
  renderWorkflowDebug,
  serveDebugModel,
  standardTerminal,
  type DebugOptions,
} from '@trinity-rft/launcher';
import { exitCodes } from './exit-codes.js';
import { allPluginDirs } from './plugin-dirs.js';
import { untilInterrupted } from './interrupt.js';

export interface DebugCommandOptions {
  readonly config: string;
  readonly module: string;
  readonly pluginDir: readonly string[];
  readonly outputDir: string;
  /** False with `--disable-overwrite`. */
  readonly overwrite: boolean;
  readonly enableProfiling: boolean;
  readonly newestCheckpoint: boolean;
  /** For the page of the profile. */
  readonly outputFile?: string;
  readonly port?: string;
}

type Write = (text: string) => void;

const modules: Readonly<
  Record<string, (options: DebugCommandOptions, write: Write) => Promise<number>>
> = {
  inference_model: inferenceModel,
  workflow,
  viewer,
};

/** Resolves with 0; with 1 when the workflow failed. */
export async function debugCommand(options: DebugCommandOptions, write: Write): Promise<number> {
  const module = modules[options.module];
  if (module) return module(options, write);
  throw new ConfigError(
    `--module is "${options.module}". Expected one of ${Object.keys(modules).join(', ')}.`,
    {
      code: 'ARGUMENT_INVALID',
    },
  );
}

/** @throws ConfigError when it is no port */
export function portOf(text: string | undefined): number {
  const port = Number(text ?? 0);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new ConfigError(
    `--port is "${text}". Expected a number from 0 (any that is free) to 65535.`,
    { code: 'ARGUMENT_INVALID' },
  );
}

const shared = ({
  config,
  pluginDir,
  outputDir,
  newestCheckpoint,
}: DebugCommandOptions): DebugOptions => ({
  configPath: config,
  // As in the original, plugin directories can also come from the environment.
  pluginDirs: allPluginDirs(pluginDir),
  outputDirectory: outputDir,
  newestCheckpoint,
});

async function inferenceModel(options: DebugCommandOptions, write: Write): Promise<number> {
  const { baseURL, apiKey, model, folder, gone, close } = await serveDebugModel({
    ...shared(options),
    port: portOf(options.port),
  });
  try {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
    write(
      `Serving ${folder} until Ctrl-C.\n\nbaseURL  ${baseURL}\napiKey   ${apiKey}\n\ncurl ${baseURL}/chat/completions -H 'Authorization: Bearer ${apiKey}' -H 'content-type: application/json' -d '${body.replaceAll("'", String.raw`'\''`)}'\n\nTry workflows with it: trinity debug --config ${options.config} --module workflow --output-dir ${options.outputDir}\n`,
    );
    await untilInterrupted(gone);
  } finally {
    await close();
  }
  return exitCodes.done;
}

async function workflow(options: DebugCommandOptions, write: Write): Promise<number> {
  const { overwrite, enableProfiling, outputFile } = options;
  const report = await debugWorkflow({
    ...shared(options),
    overwrite,
    profile: enableProfiling || outputFile !== undefined,
  });
  if (outputFile !== undefined)
    await copyFile(path.join(report.outputDirectory, debugFiles.profile), outputFile);
  write(
    renderWorkflowDebug(report, { colour: standardTerminal().isTTY && !process.env['NO_COLOR'] }),
  );
  return report.error ? exitCodes.failed : exitCodes.done;
}

async function viewer(options: DebugCommandOptions, write: Write): Promise<number> {
  const { viewCommand } = await import('./view-command.js');
  const { port } = options;
  const database = path.join(options.outputDir, debugFiles.experiences);
  return viewCommand(database, { ...(port !== undefined && { port }) }, write);
}
