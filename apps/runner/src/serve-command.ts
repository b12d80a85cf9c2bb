/**
 * `trinity serve`: a model for a running product, and training on what the product says about its
 * answers.
 */
import { ConfigError } from '@trinity-rft/core';
import {
  readConfiguration,
  run,
  standardTerminal,
  type ServeOptions,
  type Terminal,
} from '@trinity-rft/launcher';
import { exitCodes } from './exit-codes.js';
import { catchInterrupts } from './interrupt.js';
import { allPluginDirs } from './plugin-dirs.js';

export interface ServeCommandOptions {
  readonly config: string;
  readonly pluginDir: readonly string[];
  readonly port?: string;
  readonly host?: string;
  /** False with `--no-train`. */
  readonly train: boolean;
}

/** Holds the key that clients have to send. */
const keyVariable = 'TRINITY_SERVE_KEY';

export async function serveCommand(options: ServeCommandOptions): Promise<number> {
  const port = portOf(options.port);
  const { host, train } = options;
  const terminal = standardTerminal();
  const access = serveAccess(terminal);
  const pluginDirs = allPluginDirs(options.pluginDir);
  const { loaded } = await readConfiguration({
    configPath: options.config,
    pluginDirs,
    // Keys of other modes, task sets above all, stand in the file without a meaning.
    overrides: { mode: 'serve' },
    overridesName: 'trinity serve',
  });
  if (loaded.config.stages.at(-1)?.mode !== 'serve') {
    throw new ConfigError(
      `${options.config} has stages, and the last one is not to be served. Give it mode: serve.`,
      {
        code: 'SERVE_STAGE',
      },
    );
  }
  const interrupt = catchInterrupts(
    (line) => terminal.write(`\n${line}\n`),
    (code) => process.exit(code),
  );
  try {
    const summary = await run({
      configPath: loaded,
      pluginDirs,
      terminal,
      signal: interrupt.signal,
      serve: {
        ...access,
        train,
        ...(port !== undefined && { port }),
        ...(host !== undefined && { host }),
      },
    });
    terminal.write(
      `Stopped after train step ${summary.trainStep}. The same command goes on from there.\n`,
    );
    return exitCodes.done;
  } finally {
    interrupt.release();
  }
}

/**
 * The key of clients, and how they are told where the server is.
 * @throws ConfigError when the variable holds no usable key
 */
export function serveAccess(terminal: Terminal): Pick<ServeOptions, 'apiKey' | 'onOpen'> {
  const apiKey = keyOf(process.env[keyVariable]);
  return {
    ...(apiKey !== undefined && { apiKey }),
    onOpen: ({ url, apiKey: key }) => {
      const shown =
        apiKey === undefined
          ? `${key} (shown once; set ${keyVariable} to choose one)`
          : `that of ${keyVariable}`;
      terminal.write(`OpenAI base URL: ${url}/v1\nAPI key: ${shown}\n`);
    },
  };
}

/** @throws ConfigError when it could be guessed, or does not fit into a header */
function keyOf(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (/^[\x21-\x7e]{16,512}$/.test(value)) return value;
  throw new ConfigError(
    `${keyVariable} is not usable as a key. Expected 16 to 512 printable characters without spaces, or nothing.`,
    {
      code: 'ARGUMENT_INVALID',
    },
  );
}

function portOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= 65_535) return port;
  throw new ConfigError(
    `--port is "${value}". Expected a number from 0 (any that is free) to 65535.`,
    { code: 'ARGUMENT_INVALID' },
  );
}
