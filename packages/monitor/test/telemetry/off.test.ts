/** Spans in a process without an OpenTelemetry SDK. */
import { describe, expect, it } from 'vitest';
import { startTelemetry } from '../../src/telemetry/index.js';
import { activeContext, inModelSpan } from '../../src/internal.js';
import { wantsTelemetry } from '../../src/telemetry/start.js';

describe('without an SDK', () => {
  it('calls return what the work returns, and nothing of them is read for spans', async () => {
    const call = {
      model: 'm',
      get messages(): readonly unknown[] {
        throw new Error('Nobody asked for the messages.');
      },
    };
    const answer = {
      inputTokens: 1,
      outputTokens: 1,
      stopReasons: [],
      policyVersion: 0,
      texts: [],
    };
    expect(
      await inModelSpan(
        call,
        activeContext(),
        () => answer,
        async () => 5,
      ),
    ).toBe(5);
  });

  it.each([
    [{}, false],
    [{ OTEL_SERVICE_NAME: 'x' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_SDK_DISABLED: 'true' }, false],
    [{ OTEL_TRACES_EXPORTER: 'none' }, false],
    [{ OTEL_METRICS_EXPORTER: 'console' }, true],
  ])('%o asks for one: %s', (env, wanted) => {
    expect(wantsTelemetry(env)).toBe(wanted);
  });

  it('nothing is loaded that nobody asks for', async () => {
    expect(await startTelemetry({}, { warn: (text) => expect.unreachable(text) })).toBeUndefined();
  });
});
