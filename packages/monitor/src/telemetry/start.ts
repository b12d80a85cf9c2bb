/**
 * Starts the OpenTelemetry SDK of an operating-system process, as configured by the environment.
 */
import { diag, DiagLogLevel } from '@opentelemetry/api';
import type { NodeSDK } from '@opentelemetry/sdk-node';
import { ConfigError, describeError, type Logger } from '@trinity-rft/core';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Telemetry {
  /** Sends remaining data and stops. Data that cannot be sent in time is lost, with a warning. */
  close(): Promise<void>;
}

/** Maximum time for sending remaining data, in ms. */
const closeMs = 5000;

/** Returns true if OpenTelemetry's standard variables enable spans or metrics. */
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

/**
 * Starts the SDK if the environment enables it. A program that starts its own SDK must leave the
 * variables unset, otherwise OpenTelemetry warns that there are two SDKs.
 * @throws ConfigError when the package of the SDK is missing
 */
export async function startTelemetry(
  env: Environment,
  logger: Pick<Logger, 'warn'>,
): Promise<Telemetry | undefined> {
  if (!wantsTelemetry(env)) return undefined;
  const Sdk = await loadSdk();
  const warn = (message: string, ...more: readonly unknown[]): void =>
    logger.warn(['OpenTelemetry:', message, ...more.map(String)].join(' '));
  const quiet = (): void => undefined;
  diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  // Metrics use the exporter of the spans, unless the environment sets another one.
  process.env['OTEL_METRICS_EXPORTER'] ??= env['OTEL_TRACES_EXPORTER'] ?? 'otlp';
  const sdk = new Sdk({ serviceName: serviceName(env), logRecordProcessors: [] });
  sdk.start();
  return {
    close: async () => {
      const late = new Promise<never>((_, reject) => {
        setTimeout(
          () => reject(new Error(`No answer within ${closeMs / 1000} s.`)),
          closeMs,
        ).unref();
      });
      await Promise.race([sdk.shutdown(), late]).catch((error: unknown) =>
        warn(`the last spans and metrics could not be sent: ${describeError(error)}`),
      );
      diag.disable();
    },
  };
}

/**
 * Returns the name of the service. Returns undefined if the environment sets the name, because the
 * SDK reads it from there.
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
