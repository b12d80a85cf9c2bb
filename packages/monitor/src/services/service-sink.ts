/** Creates the sinks that send metrics to Weights & Biases, MLflow or SwanLab. */
import path from 'node:path';
import type { MetricRole, Clock, Logger, MetricSink, Needs } from '@trinity-rft/core';
import { knowSecret, redactText } from '@trinity-rft/core/support';
import { mlflowRun } from './mlflow.js';
import { previewReader } from './preview.js';
import { createSender, type Sender, type SenderOptions } from './sender.js';
import { ServiceError, type RunOutcome, type ServiceName, type TrackedRun } from './service.js';
import { swanlabRun } from './swanlab.js';
import { wandbRun } from './wandb.js';

type Arguments = Readonly<Record<string, unknown>>;
type Environment = Readonly<Record<string, string | undefined>>;

export interface ServiceSinkOptions {
  readonly service: ServiceName;
  /**
   * Settings of the service from `monitor.monitor_args`, such as `base_url`, `uri` and `workspace`.
   */
  readonly args: Arguments;
  /**
   * Environment variables. The keys and URLs of services have the names that each service defines,
   * such as `WANDB_API_KEY`.
   */
  readonly env: Environment;
  readonly project: string;
  /** Name of the training run. */
  readonly name: string;
  readonly group: string;
  /**
   * Roles whose records are sent to a separate run at the service. @default one run for all roles
   */
  readonly ownRuns?: readonly MetricRole[];
  /** Configuration of the training run, without secrets. */
  readonly config: Arguments;
  /**
   * Folder that contains `metrics.jsonl`. The file `<service>.json`, which records what was sent,
   * is added to it.
   */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly batchMs?: number;
  readonly closeMs?: number;
}

export interface ServiceSink extends MetricSink {
  /**
   * Opens the run at the service.
   * @param stop signal that ends the wait for a service that does not respond
   * @throws ServiceError when a key is missing or refused
   */
  open(stop?: AbortSignal): Promise<void>;
  /** Sets the outcome that `close` reports to the service. @default 'finished' */
  setOutcome(outcome: RunOutcome): void;
}

const serviceTitles: Readonly<Record<ServiceName, string>> = {
  wandb: 'Weights & Biases',
  mlflow: 'MLflow',
  swanlab: 'SwanLab',
};

/**
 * Creates a sink that sends the records of `metrics.jsonl` to a service. Records must be in the
 * file before this sink's `write` is called, because `write` only signals that there are new
 * records. It never waits and never fails, whatever the service responds.
 */
export function serviceSink(options: ServiceSinkOptions): ServiceSink {
  const { service, ownRuns } = options;
  const senders = (ownRuns ?? [undefined]).map((role) => senderOf(options, role));
  let outcome: RunOutcome = 'finished';
  return {
    open: async (stop) => {
      for (const sender of senders) await openSender(service, sender, stop);
    },
    write: () => {
      for (const sender of senders) sender.wake();
    },
    setOutcome: (value) => {
      outcome = value;
    },
    close: async () => {
      await Promise.all(senders.map((sender) => sender.close(outcome)));
    },
  };
}

async function openSender(
  service: ServiceName,
  sender: Sender,
  stop: AbortSignal | undefined,
): Promise<void> {
  try {
    await sender.open(stop);
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    const fix =
      cause.problem === 'refused'
        ? `Check ${keyNames[service]} in the environment.`
        : 'Check monitor.monitor_args.';
    throw new ServiceError(`${serviceTitles[service]}: ${cause.message}. ${fix}`, {
      problem: cause.problem,
      cause,
    });
  }
}

const keyNames: Readonly<Record<ServiceName, string>> = {
  wandb: 'WANDB_API_KEY',
  mlflow: 'MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN,',
  swanlab: 'SWANLAB_API_KEY',
};

/**
 * Returns the environment variables that a service requires, which are checked before a training
 * run. Returns none for MLflow, or if `args` contains the key.
 */
export function serviceNeeds(service: ServiceName, args: Arguments): Needs {
  const hasKey = service === 'mlflow' || text(args, 'api_key') !== undefined;
  return hasKey ? {} : { env: [keyNames[service]] };
}

function senderOf(options: ServiceSinkOptions, role: MetricRole | undefined): Sender {
  const { service, directory, name, clock, logger } = options;
  const suffix = role === undefined ? '' : `_${role}`;
  const preview = role === 'trainer' ? undefined : path.join(directory, 'rollouts.jsonl');
  const more: Pick<SenderOptions, 'nextTable' | 'roles'> = {
    roles: role && [role],
    nextTable: preview === undefined ? () => undefined : previewReader(preview),
  };
  const { batchMs, closeMs } = options;
  return createSender({
    title: serviceTitles[service],
    run: runs[service]({ ...options, name: `${name}${suffix}` }, role),
    metricsFile: path.join(directory, 'metrics.jsonl'),
    cursorFile: path.join(directory, `${service}${suffix}.json`),
    clock,
    logger,
    ...more,
    ...(batchMs === undefined ? {} : { batchMs }),
    ...(closeMs === undefined ? {} : { closeMs }),
  });
}

const runs: Readonly<
  Record<ServiceName, (options: ServiceSinkOptions, role: MetricRole | undefined) => TrackedRun>
> = {
  wandb: ({ args, env, project, name, group, config }, role) =>
    wandbRun({
      baseUrl: addressOf('wandb', args, env)?.url,
      apiKey: keyOf('wandb', text(args, 'api_key') ?? env['WANDB_API_KEY']),
      entity: text(args, 'entity') ?? env['WANDB_ENTITY'],
      project,
      name,
      group: text(args, 'group') ?? group,
      tags: [...list(args, 'tags'), ...(role === undefined ? [] : [role])],
      config,
    }),
  mlflow: ({ args, env, project, name, group, config }, role) => {
    const address = addressOf('mlflow', args, env);
    const username = text(args, 'username') ?? text(env, 'MLFLOW_TRACKING_USERNAME');
    const password = text(args, 'password') ?? text(env, 'MLFLOW_TRACKING_PASSWORD');
    return mlflowRun({
      uri: address?.url,
      username: username ?? address?.username,
      password: secret(password ?? (username === undefined ? address?.password : undefined)),
      token: secret(text(env, 'MLFLOW_TRACKING_TOKEN')),
      project,
      name,
      tags: { group, ...(role === undefined ? {} : { role }) },
      params: flat(config),
    });
  },
  swanlab: ({ args, env, project, name, group, config }, role) =>
    swanlabRun({
      host: addressOf('swanlab', args, env)?.url,
      apiKey: keyOf('swanlab', text(args, 'api_key') ?? env['SWANLAB_API_KEY']),
      workspace: text(args, 'workspace') ?? env['SWANLAB_WORKSPACE'],
      project,
      name,
      group: text(args, 'group') ?? group,
      description: text(args, 'description'),
      tags: [...list(args, 'tags'), ...(role === undefined ? [] : [role])],
      config,
    }),
};

const addressNames: Readonly<Record<ServiceName, readonly [argument: string, variable: string]>> = {
  wandb: ['base_url', 'WANDB_BASE_URL'],
  mlflow: ['uri', 'MLFLOW_TRACKING_URI'],
  swanlab: ['api_host', 'SWANLAB_API_HOST'],
};

interface Address {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * Returns the address of a service, without the user name and password that an address of MLflow
 * may contain, or undefined if none is set.
 * @throws ServiceError if the address cannot be used with `fetch`
 */
function addressOf(service: ServiceName, args: Arguments, env: Environment): Address | undefined {
  const [argument, variable] = addressNames[service];
  const given = text(args, argument);
  const value = (given ?? text(env, variable))?.trim();
  if (value === undefined) return undefined;
  const url = URL.parse(value);
  const hasUser = url !== null && url.username + url.password !== '';
  // A password may contain a slash; the path of a file may contain an @.
  const user = /^((?:\w[\w+.-]*:\/\/)?)(?![\w+.-]*:\/\/|\/).*@/;
  const shown = redactText(value.replace(user, '$1'));
  if (url === null || !/^https?:$/.test(url.protocol) || (hasUser && service !== 'mlflow'))
    throw new ServiceError(
      `${serviceTitles[service]}: ${given === undefined ? variable : `monitor.monitor_args.${argument}`} is ${shown}; expected an http or https address${hasUser ? ' without a user name' : ''}. Correct it${service === 'mlflow' ? ' (`mlflow server` serves a folder or database)' : ''}, or take ${service} out of monitor.monitor_type.`,
      { problem: 'rejected' },
    );
  if (!hasUser) return { url: value };
  const [username, password] = [url.username, url.password].map(decoded);
  Object.assign(url, { username: '', password: '' });
  return { url: url.href, ...(username && { username }), ...(password && { password }) };
}

/** Decodes `%` escapes. Returns a text with a bare `%` unchanged. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Returns the key, and registers it as a secret.
 * @throws ServiceError when the key is missing
 */
function keyOf(service: ServiceName, key: string | undefined): string {
  if (key === undefined || key === '')
    throw new ServiceError(
      `${serviceTitles[service]} needs a key. Set ${keyNames[service]} in the environment, or take ${service} out of monitor.monitor_type.`,
      { problem: 'refused' },
    );
  knowSecret(key);
  return key;
}

function secret(value: string | undefined): string | undefined {
  if (value !== undefined) knowSecret(value);
  return value;
}

function text(args: Arguments, name: string): string | undefined {
  const value = args[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function list(args: Arguments, name: string): readonly string[] {
  const value = args[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/**
 * Converts nested settings to a flat record. Nested keys are joined with dots, and values become
 * strings.
 */
function flat(config: Arguments): Readonly<Record<string, string>> {
  const entries = (at: string, value: unknown): readonly (readonly [string, string])[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([name, inner]) =>
          entries(at === '' ? name : `${at}.${name}`, inner),
        )
      : value === undefined
        ? []
        : [[at, typeof value === 'string' ? value : JSON.stringify(value)]];
  return Object.fromEntries(entries('', config));
}
