/** Spans as an SDK of the process sees them. */
import { context, createNoopMeter, metrics, propagation, trace } from '@opentelemetry/api';
import { NodeSDK, type NodeSDKConfiguration } from '@opentelemetry/sdk-node';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  activeContext,
  inModelSpan,
  inRequestContext,
  inToolSpan,
  inWorkflowSpan,
  noteFailure,
} from '../../src/internal.js';

type Processor = NonNullable<NodeSDKConfiguration['spanProcessors']>[number];

let ended: Parameters<Processor['onEnd']>[0][] = [];
const nothing = (): Promise<void> => Promise.resolve();
const collect: Processor = {
  onStart: () => undefined,
  onEnd: (span) => void ended.push(span),
  forceFlush: nothing,
  shutdown: nothing,
};
const sdk = new NodeSDK({ spanProcessors: [collect], metricReaders: [], logRecordProcessors: [] });
sdk.start();
afterAll(async () => {
  await sdk.shutdown();
  for (const api of [trace, context, propagation, metrics]) api.disable();
});
beforeEach(() => {
  ended = [];
});

const run = { workflow: 'w', run: '1/2/0', taskset: 't', row: 2, isEval: false, attempt: 0 };
const answer = {
  inputTokens: 7,
  outputTokens: 3,
  stopReasons: ['stop'],
  policyVersion: 4,
  texts: ['forty-two'],
};
const call = { model: 'm', temperature: 0.5, messages: [{ role: 'user', content: 'secret' }] };
const chat = (home = activeContext()) =>
  inModelSpan(
    call,
    home,
    () => answer,
    async () => answer,
  );
const spanNamed = (name: string) => {
  const found = ended.find((span) => span.name === name);
  if (found === undefined) throw new Error(`There is no span ${name}.`);
  return found;
};

describe('spans', () => {
  it('of model calls and tools lie within that of their run', async () => {
    await inWorkflowSpan(
      run,
      () => [1],
      async () => {
        await chat();
        return inToolSpan({ name: 'add', rawArguments: '{}' }, String, async () => 42);
      },
    );
    const workflow = spanNamed('invoke_workflow w');
    for (const name of ['chat m', 'execute_tool add'])
      expect(spanNamed(name).parentSpanContext?.spanId).toBe(workflow.spanContext().spanId);
    expect(workflow.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'w',
      'trinity.run': '1/2/0',
      'trinity.taskset': 't',
      'trinity.row': 2,
      'trinity.eval': false,
      'trinity.attempt': 0,
      'trinity.reward': [1],
    });
    expect(spanNamed('chat m').attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'trinity-rft',
      'gen_ai.request.model': 'm',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.response.finish_reasons': ['stop'],
      'trinity.policy_version': 4,
    });
  });

  it('of calls without a context belong to the run, those with a traceparent to the agent', async () => {
    let home = activeContext();
    await inWorkflowSpan(
      run,
      () => [],
      async () => void (home = activeContext()),
    );
    await chat(home);
    const workflow = spanNamed('invoke_workflow w').spanContext();
    expect(spanNamed('chat m').parentSpanContext?.spanId).toBe(workflow.spanId);
    ended = [];
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const headers = new Headers({ traceparent: `00-${traceId}-${spanId}-01` });
    await inRequestContext(headers, home, () => chat(home));
    expect(spanNamed('chat m').parentSpanContext).toMatchObject({ traceId, spanId });
  });

  it('hold texts only where the environment says so', async () => {
    vi.stubEnv('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'true');
    await chat();
    await inToolSpan({ name: 'add', rawArguments: '{"a":1}' }, String, async () => 42);
    vi.unstubAllEnvs();
    expect(spanNamed('chat m').attributes).toMatchObject({
      'gen_ai.input.messages': JSON.stringify(call.messages),
      'gen_ai.output.messages': expect.stringContaining('forty-two') as string,
    });
    expect(spanNamed('execute_tool add').attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"a":1}',
      'gen_ai.tool.call.result': '42',
    });
  });

  it('have the error of work that rejects, or that reports it', async () => {
    const failing = inToolSpan({ name: 'add', rawArguments: '' }, String, () =>
      Promise.reject(new RangeError('too large')),
    );
    await expect(failing).rejects.toThrow('too large');
    await inWorkflowSpan(
      run,
      () => [],
      async () => noteFailure(new TypeError('no number')),
    );
    expect(spanNamed('execute_tool add')).toMatchObject({
      attributes: { 'error.type': 'RangeError' },
      status: { code: 2, message: 'too large' },
      events: [],
    });
    expect(spanNamed('invoke_workflow w').attributes).toMatchObject({ 'error.type': 'TypeError' });
  });
});

it('the duration of every model call is measured, with the type of its error', async () => {
  const durations: unknown[] = [];
  const meter = createNoopMeter();
  meter.createHistogram = (name) => ({
    record: (seconds, attributes) => {
      if (name === 'gen_ai.client.operation.duration')
        durations.push([seconds >= 0, attributes?.['error.type']]);
    },
  });
  metrics.setGlobalMeterProvider({ getMeter: () => meter });
  await chat();
  const failing = inModelSpan(
    call,
    activeContext(),
    () => answer,
    () => Promise.reject(new RangeError('too long')),
  );
  await expect(failing).rejects.toThrow('too long');
  expect(durations).toEqual([
    [true, undefined],
    [true, 'RangeError'],
  ]);
});
