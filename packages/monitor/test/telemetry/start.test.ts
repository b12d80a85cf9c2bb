/** SDKs that training runs of one process start, each for its own time. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { capturesContent } from '../../src/telemetry/content.js';
import { inSpan } from '../../src/telemetry/spans.js';
import { startTelemetry } from '../../src/telemetry/index.js';
import { telemetrySink } from '../../src/telemetry/metric-sink.js';

/** Texts that the collector received. */
let received: string[] = [];
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    received.push(body);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
let env: Record<string, string> = {};
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  };
});
afterAll(() => void server.close());
beforeEach(() => {
  received = [];
});

const start = () => startTelemetry(env, { warn: (text) => expect.unreachable(text) });

async function record(name: string): Promise<void> {
  await inSpan({ name, attributes: () => ({}) }, async () => undefined);
  telemetrySink().write({ role: 'trainer', step: 1, metrics: { [name]: 1 }, timing: {} } as never);
}

const names = (): readonly string[] =>
  [...new Set(received.join('\n').match(/"(?:trinity\.)?run_\d"/g))].toSorted();

it('runs one after the other send their own spans and metrics, and the environment stays', async () => {
  const before = { ...process.env };
  for (const name of ['run_1', 'run_2']) {
    const telemetry = await start();
    expect(capturesContent()).toBe(true);
    await record(name);
    await telemetry!.close();
    expect(names()).toEqual([`"${name}"`, `"trinity.${name}"`]);
    received = [];
  }
  expect([{ ...process.env }, capturesContent()]).toEqual([before, false]);
});

it('metrics whose names no instrument can have are sent without a warning', async () => {
  const telemetry = await start();
  await record('eval/a set/reward/mean@4');
  await telemetry!.close();
  expect(received.join('\n')).toContain('"trinity.eval.a_set.reward.mean_at_4"');
});

it('distinguishes metrics that share an instrument by their names', async () => {
  const telemetry = await start();
  const values = { 'eval/数学/reward': 1, 'eval/代码/reward': 2, 'eval/__/reward': 3 };
  telemetrySink().write({ role: 'trainer', step: 1, metrics: values, timing: {} } as never);
  await telemetry!.close();
  const sent = received.join('\n');
  expect(sent.match(/"asDouble":\d/g)?.toSorted()).toEqual(
    [1, 1, 2, 3].map((value) => `"asDouble":${value}`),
  );
  const named = sent.match(/"trinity.metric","value":\{"stringValue":"[^"]+/g) ?? [];
  expect(named.map((text) => text.split('"').at(-1))).toEqual([
    'eval/数学/reward',
    'eval/代码/reward',
  ]);
});

it('runs that overlap send through the same SDK, until the last one ends', async () => {
  const [one, two] = await Promise.all([start(), start()]);
  await two!.close();
  await record('run_1');
  await one!.close();
  expect(names()).toEqual(['"run_1"', '"trinity.run_1"']);
});

it('metrics of the program itself stay in use, and get those of the run', async () => {
  const variables = { ...env, OTEL_TRACES_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const own = new NodeSDK();
  own.start();
  vi.unstubAllEnvs();
  const provider = metrics.getMeterProvider();
  const telemetry = await start();
  await record('run_1');
  await telemetry!.close();
  expect(names()).toEqual(['"run_1"']);
  expect(metrics.getMeterProvider()).toBe(provider);
  expect(propagation.fields()).not.toEqual([]);
  await own.shutdown();
  expect(names()).toEqual(['"run_1"', '"trinity.run_1"']);
  for (const api of [context, propagation, metrics]) api.disable();
});

it('an SDK of the program itself stays in use', async () => {
  const ended: string[] = [];
  const nothing = (): Promise<void> => Promise.resolve();
  const processor = {
    onStart: () => undefined,
    onEnd: (span: { readonly name: string }) => void ended.push(span.name),
    forceFlush: nothing,
    shutdown: nothing,
  };
  const sdk = new NodeSDK({
    spanProcessors: [processor],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  expect(await start()).toBeUndefined();
  await record('run_1');
  expect([ended, names()]).toEqual([['run_1'], []]);
  await sdk.shutdown();
  for (const api of [trace, context, propagation, metrics]) api.disable();
});

/** Returns the address of a port at which nothing listens. */
async function deadAddress(): Promise<string> {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  return `127.0.0.1:${port}`;
}

it('a collector that takes no connection is named at once, with the cause', async () => {
  const address = await deadAddress();
  const lines: string[] = [];
  const refused = {
    ...env,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://me:pass-word@${address}/v1/traces`,
  };
  const telemetry = await startTelemetry(refused, { warn: (line) => lines.push(line) });
  await expect.poll(() => lines).toHaveLength(1);
  await telemetry!.close();
  expect(lines).toEqual([
    `OpenTelemetry: ${address} cannot be reached (ECONNREFUSED). What is sent there is lost until a collector runs there.`,
  ]);
});

it.each([
  [
    'both signals have collectors of their own',
    (alive: string) => ({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${alive}/v1/traces`,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${alive}/v1/metrics`,
    }),
  ],
  ['nothing is sent by OTLP', () => ({ OTEL_TRACES_EXPORTER: 'none' })],
  ['a proxy connects in its place', () => ({ https_proxy: 'http://127.0.0.1:9' })],
])('the general collector is not checked where %s', async (_, more) => {
  const clients: unknown[] = [];
  const general = createServer().on('connection', (socket) => clients.push(socket.remotePort));
  await new Promise<void>((resolve) => general.listen(0, '127.0.0.1', resolve));
  const { port } = general.address() as AddressInfo;
  const own = more(env['OTEL_EXPORTER_OTLP_ENDPOINT']!);
  const unused = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, ...own };
  const telemetry = await startTelemetry(unused, { warn: () => undefined });
  // The server takes connections in their order, so one of the check comes before this one.
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  await expect.poll(() => clients).toContain(socket.localPort);
  expect(clients).toEqual([socket.localPort]);
  socket.destroy();
  await telemetry!.close();
  await new Promise((resolve) => general.close(resolve));
});

it('a collector of gRPC may have an address without a scheme', async () => {
  const telemetry = await startTelemetry(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: (await deadAddress()).replace('127.0.0.1', 'localhost'),
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_METRICS_EXPORTER: 'none',
    },
    { warn: (text) => expect.unreachable(text) },
  );
  await telemetry!.close();
});
