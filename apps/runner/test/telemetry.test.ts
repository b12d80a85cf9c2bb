/** Tests the data that a run sends to an OpenTelemetry collector. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { runArgs, startTrinity } from './support/trinity.js';
import { createWorkspace } from './support/workspace.js';

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Span {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly Attribute[];
}

interface Batch {
  readonly resource: { readonly attributes: readonly Attribute[] };
  readonly scopeSpans?: readonly { readonly spans: readonly Span[] }[];
  readonly scopeMetrics?: readonly { readonly metrics: readonly { readonly name: string }[] }[];
}

/** Starts a collector that accepts OTLP as JSON. */
async function startCollector() {
  const batches: Batch[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    void text(request).then((body) => {
      const { resourceSpans = [], resourceMetrics = [] } = JSON.parse(body) as Readonly<
        Record<string, readonly Batch[] | undefined>
      >;
      batches.push(...resourceSpans, ...resourceMetrics);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { batches, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Agent that calls the model in the process, and then over HTTP with its own tracing. */
const agent = `
import { defineWorkflow } from '@trinity-rft/workflow';
export const tracedAgent = defineWorkflow({
  name: 'traced',
  run: async ({ task, model }) => {
    const messages = [{ role: 'user' as const, content: String(task.rawTask['question']) }];
    await model.chat(messages);
    const { baseURL, apiKey, fetch } = model.endpoint();
    await fetch(baseURL + '/chat/completions', {
      method: 'POST',
      headers: {
        authorization: 'Bearer ' + apiKey,
        'content-type': 'application/json',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
      body: JSON.stringify({ model: model.modelPath, messages }),
    });
    return Math.random();
  },
});
`;

it('sends spans and metrics where the environment says, and texts nowhere', async () => {
  const { batches, url } = await startCollector();
  const workspace = await createWorkspace();
  workspace.write('plugins/traced.ts', agent);
  const config = workspace.config('run.yaml', {
    buffer: { total_steps: 2, explorer_input: { default_workflow_type: 'traced' } },
  });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const { exitCode, stderr } = await startTrinity(workspace.root, runArgs(config), { env }).ended;
  expect(stderr).not.toContain('OpenTelemetry');
  expect(exitCode).toBe(0);

  const spans = batches.flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap((one) => one.spans));
  const runs = spans.filter(({ name }) => name === 'invoke_workflow traced');
  const calls = spans.filter(({ name }) => name.startsWith('chat '));
  expect([runs.length, calls.length]).toEqual([2 * 4 * 4, 2 * 2 * 4 * 4]);
  const parents = Object.groupBy(calls, ({ parentSpanId = '' }) => parentSpanId);
  expect(parents['b7ad6b7169203331']).toHaveLength(runs.length);
  for (const { spanId, attributes } of runs) {
    expect(parents[spanId]).toHaveLength(1);
    expect(attributes.map(({ key }) => key)).toContain('trinity.reward');
  }
  const names = batches.flatMap(({ scopeMetrics = [] }) =>
    scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
  );
  for (const name of ['gen_ai.client.token.usage', 'trinity.rollout.reward.mean', 'trinity.step'])
    expect(names).toContain(name);
  const everything = JSON.stringify(batches);
  expect(everything).toContain('"service.name","value":{"stringValue":"trinity-rft"}');
  expect(everything).not.toContain('messages');
});
