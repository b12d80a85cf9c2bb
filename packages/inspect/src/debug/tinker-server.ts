/**
 * Serves the configured model over the Tinker protocol, for the official client and other clients.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { openTinkerServer, type TinkerServer } from '@trinity-rft/tinker/server';
import { trainableModel } from '@trinity-rft/launcher/parts';
import { openDebugContext, type DebugOptions } from './open.js';

interface ServeTinkerOptions extends Omit<DebugOptions, 'outputDirectory' | 'checkNames'> {
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /** Port; 0 selects any free port. @default 0 */
  readonly port?: number;
  /**
   * Key that clients send. It must begin with `tml-`, which the official client requires.
   * @default a random key
   */
  readonly apiKey?: string;
}

interface ServedTinker extends TinkerServer {
  readonly apiKey: string;
  /** Name that clients pass as `base_model`. */
  readonly model: string;
  /** Folder for saved weights. */
  readonly directory: string;
}

/**
 * Serves the model of a configuration to clients of the Tinker protocol until it is closed.
 * @throws ConfigError when the model or the port cannot be used
 */
export async function serveTinker(options: ServeTinkerOptions): Promise<ServedTinker> {
  const { host, port, apiKey = `tml-${randomBytes(24).toString('base64url')}` } = options;
  const overrides = { overrides: { mode: 'serve' }, overridesName: 'trinity serve' };
  const { context } = await openDebugContext(
    { ...options, ...overrides, checkNames: false },
    ({ stages }) => stages[0],
  );
  const { stage, runtime } = context;
  const name = stage.explorer.rolloutModel.name ?? stage.model.modelPath;
  const directory = path.join(stage.jobDirectory, 'tinker');
  const server = await openTinkerServer({
    model: { name, ...(await trainableModel(context)) },
    directory,
    runtime,
    apiKey,
    host,
    port,
  });
  return { ...server, apiKey, model: name, directory };
}
