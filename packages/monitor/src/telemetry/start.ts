/** Starts the OpenTelemetry SDK in this process, with the settings in the environment variables. */
import {
  context,
  createContextKey,
  diag,
  DiagLogLevel,
  metrics,
  propagation,
  ROOT_CONTEXT,
  trace,
} from '@opentelemetry/api';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { NodeSDK } from '@opentelemetry/sdk-node';
import { ConfigError, describeError, type Logger } from '@trinity-rft/core';
import { captureAsIn, type Environment } from './content.js';
import { hasMeter, hasSdk, serverAttributes } from './spans.js';

export interface Telemetry {
  /**
   * Sends the remaining data and stops the SDK. Data that cannot be sent in time is lost, and a
   * warning is logged.
   */
  close(): Promise<void>;
}

/** Maximum time for sending the remaining data, in ms. */
const closeMs = 5000;

/** Maximum time to connect to the collector when its address is checked, in ms. */
const connectMs = 2000;

/** Returns true if OpenTelemetry's standard environment variables enable spans or metrics. */
export function wantsTelemetry(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const isSet = (name: string): boolean => (env[name] ?? '') !== '';
  const exporters = ['OTEL_TRACES_EXPORTER', 'OTEL_METRICS_EXPORTER'];
  if (exporters.some((name) => isSet(name) && env[name] !== 'none')) return true;
  return [
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  ].some(isSet);
}

interface StartedSdk {
  readonly sdk: NodeSDK;
  /** Global components of OpenTelemetry that were registered by this SDK. */
  readonly parts: readonly { disable(): void }[];
}

/** SDK that was started in this process. Training runs that overlap share it. */
let running: (StartedSdk & { users: number }) | undefined;

/**
 * Starts the SDK if the environment variables enable it. Starts no SDK if the program or an
 * overlapping training run has already started one, which is then used. If the program has
 * registered a metrics provider, that provider receives the metrics.
 * @throws ConfigError when the SDK's package is not installed
 */
export async function startTelemetry(
  env: Environment,
  logger: Pick<Logger, 'warn'>,
): Promise<Telemetry | undefined> {
  if (!wantsTelemetry(env) || (running === undefined && hasSdk())) return undefined;
  const Sdk = await loadSdk();
  const warn: Warn = (message, ...more) =>
    logger.warn(['OpenTelemetry:', message, ...more.map(String)].join(' '));
  const used = (running ??= { ...startSdk(Sdk, env, warn), users: 0 });
  used.users++;
  return {
    close: async () => {
      if (--used.users > 0) return;
      running = undefined;
      for (const part of used.parts) part.disable();
      captureAsIn(process.env);
      await shutDown(used.sdk, env, warn);
      if (running === undefined) diag.disable();
    },
  };
}

type Warn = (message: string, ...more: readonly unknown[]) => void;

/** Returns the global components of OpenTelemetry that are registered. */
function partsInUse(): ReadonlySet<object> {
  const probe = ROOT_CONTEXT.setValue(createContextKey('trinity-rft'), true);
  const isSet = [
    [trace, hasSdk()],
    [context, context.with(probe, () => context.active()) === probe],
    [propagation, propagation.fields().length > 0],
    [metrics, hasMeter()],
  ] as const;
  return new Set(isSet.flatMap(([part, isUsed]) => (isUsed ? [part] : [])));
}

function startSdk(Sdk: typeof NodeSDK, env: Environment, warn: Warn): StartedSdk {
  const inUse = partsInUse();
  const quiet = (): void => undefined;
  diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  captureAsIn(env);
  const variables: Environment = {
    ...env,
    // Metrics use the exporter of the spans, unless the environment sets another one.
    OTEL_METRICS_EXPORTER: inUse.has(metrics)
      ? 'none'
      : (env['OTEL_METRICS_EXPORTER'] ?? env['OTEL_TRACES_EXPORTER'] ?? 'otlp'),
    OTEL_LOGS_EXPORTER: 'none',
  };
  for (const collector of collectorsOf(variables)) void warnIfUnreached(collector, warn);
  return withVariables(variables, () => {
    const sdk = new Sdk({
      serviceName: serviceName(env),
      // The SDK sets no context manager for null, which its type lacks.
      ...(inUse.has(context) && { contextManager: null as never }),
      ...(inUse.has(propagation) && { textMapPropagator: null }),
    });
    sdk.start();
    const all = [trace, context, propagation, metrics];
    return { sdk, parts: all.filter((part) => !inUse.has(part)) };
  });
}

/**
 * Calls `work` while OpenTelemetry's variables in `process.env`, from which the SDK reads its
 * settings, are replaced with those in `env`.
 */
function withVariables<T>(env: Environment, work: () => T): T {
  const own = telemetryVariables(process.env);
  const replaceWith = (variables: Environment): void => {
    for (const name of Object.keys(telemetryVariables(process.env))) delete process.env[name];
    Object.assign(process.env, variables);
  };
  replaceWith(telemetryVariables(env));
  try {
    return work();
  } finally {
    replaceWith(own);
  }
}

const telemetryVariables = (env: Environment): Environment =>
  Object.fromEntries(
    Object.entries(env).filter(([name, value]) => name.startsWith('OTEL_') && value !== undefined),
  );

/**
 * Returns the HTTP addresses of collectors to which the SDK connects, without paths and passwords.
 * Returns none if a proxy is set, which may connect in its place.
 */
function collectorsOf(env: Environment): readonly URL[] {
  if (Object.keys(env).some((name) => /^(?:grpc|https?)_proxy$/i.test(name) && env[name]))
    return [];
  const traces = env['OTEL_TRACES_EXPORTER'] || 'otlp';
  const exporters = { TRACES: traces, METRICS: env['OTEL_METRICS_EXPORTER'] || traces };
  const origins = Object.entries(exporters).flatMap(([signal, exporter]) => {
    const own = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
    const url = URL.parse(own || (env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? ''));
    return /\botlp\b/.test(exporter) && url && /^https?:$/.test(url.protocol) ? [url.origin] : [];
  });
  return [...new Set(origins)].map((origin) => new URL(origin));
}

/** Warns if a collector takes no connection, because the SDK reports that only after its retries. */
async function warnIfUnreached(collector: URL, warn: Warn): Promise<void> {
  const { 'server.address': host, 'server.port': port } = serverAttributes(collector);
  const socket = connect({ host, port });
  socket.unref();
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectMs) });
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    const why = name === 'AbortError' ? `no connection within ${connectMs / 1000} s` : code;
    warn(
      `${collector.host} cannot be reached (${why ?? describeError(error)}). What is sent there is lost until a collector runs there.`,
    );
  } finally {
    socket.destroy();
  }
}

async function shutDown(sdk: NodeSDK, env: Environment, warn: Warn): Promise<void> {
  const hosts = collectorsOf(env).map(({ host }) => host);
  const from = hosts.join(' and ') || 'the exporter';
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`No answer from ${from} within ${closeMs / 1000} s.`);
    setTimeout(() => reject(error), closeMs).unref();
  });
  await Promise.race([sdk.shutdown(), late]).catch((error: unknown) =>
    warn(`the last spans and metrics could not be sent: ${describeError(error)}`),
  );
}

/**
 * Returns the service name for telemetry. Returns undefined if the environment variables set a
 * name, which the SDK then uses.
 */
function serviceName(env: Environment): string | undefined {
  const isNamed = /(?:^|,)\s*service\.name=/.test(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '');
  return env['OTEL_SERVICE_NAME'] || isNamed ? undefined : 'trinity-rft';
}

async function loadSdk(): Promise<typeof NodeSDK> {
  try {
    return (await import('@opentelemetry/sdk-node')).NodeSDK;
  } catch (cause) {
    throw new ConfigError(
      'The environment asks for OpenTelemetry (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER), but @opentelemetry/sdk-node is not installed. Run npm install @opentelemetry/sdk-node, or set OTEL_SDK_DISABLED=true.',
      { code: 'TELEMETRY_MISSING', cause },
    );
  }
}
