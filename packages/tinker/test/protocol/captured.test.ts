/** Decodes and encodes the captured traffic of SDKs and a real SkyRL server. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ZodType } from 'zod';
import {
  decodeForwardBackward,
  decodeForwardBackwardResult,
  encodeForwardBackward,
  encodeForwardBackwardResult,
  modelAnswer,
  modelResult,
  paths,
  pendingAnswer,
  requestSchemas,
  samplerResult,
  saveResult,
  sessionAnswer,
  stepResult,
  type JsonVerb,
  weightsInfoAnswer,
} from '../../src/protocol/index.js';

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly req: Readonly<Record<string, unknown>> | null;
  readonly status: number;
  readonly res: Readonly<Record<string, unknown>>;
}

const folder = path.join(import.meta.dirname, 'captured');
const exchanges = readdirSync(folder).flatMap(
  (file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as readonly Exchange[],
);

const bytesOf = (message: unknown): Uint8Array | undefined => {
  const { base64 } = (message ?? {}) as { readonly base64?: string };
  return base64 === undefined ? undefined : new Uint8Array(Buffer.from(base64, 'base64'));
};
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const passes = exchanges.flatMap(({ req }) => bytesOf(req) ?? []);
const results = exchanges.flatMap(({ res, status }) =>
  status === 200 ? (bytesOf(res) ?? []) : [],
);

describe('captured exchanges', () => {
  it('has bodies and results of protobuf', () => {
    expect(passes.length).toBeGreaterThan(10);
    expect(results.length).toBeGreaterThan(10);
  });

  it('writes every captured body as SDK 0.38 does', () => {
    const differing = passes.filter((body) => {
      const request = decodeForwardBackward(body);
      const written = encodeForwardBackward(request);
      expect(decodeForwardBackward(written)).toEqual(request);
      return text(written) !== text(body);
    });
    // The two bodies of SDK 0.25 that have loss settings.
    expect(differing).toHaveLength(2);
  });

  it('reads every captured result, and writes it as the server wrote it', () => {
    for (const bytes of results) {
      const result = decodeForwardBackwardResult(bytes);
      expect(text(encodeForwardBackwardResult(result))).toBe(text(bytes));
      expect(result).toEqual(expect.objectContaining({ outputType: 'scalar', metrics: {} }));
      const [output] = result.outputs;
      expect(output?.['logprobs']).toHaveLength(4);
      expect(output?.['logprobs']?.[0]).toBeCloseTo(-8.55896, 4);
      expect(output?.['elementwise_loss']).toHaveLength(4);
    }
  });

  it('writes a pass of its own as the SDK does', () => {
    const body = encodeForwardBackward({
      modelId: 'model_17e02d98',
      seqId: 2,
      data: [
        {
          tokens: Int32Array.of(72, 101, 108, 108),
          inputs: {
            weights: Float32Array.of(1, 1, 1, 1),
            target_tokens: Int32Array.of(101, 108, 108, 111),
          },
        },
      ],
      lossFn: 'cross_entropy',
    });
    expect(passes.map(text)).toContain(text(body));
  });

  it('reads every JSON request of a known verb, whichever SDK sent it', () => {
    const verbs = exchanges.flatMap(({ path: at, req }) => {
      const verb = at.slice(paths.root.length);
      return Object.hasOwn(requestSchemas, verb) ? [[verb as JsonVerb, req] as const] : [];
    });
    expect(new Set(verbs.map(([verb]) => verb)).size).toBeGreaterThan(9);
    for (const [verb, req] of verbs)
      expect({ verb, ...requestSchemas[verb].safeParse(req) }).toMatchObject({ success: true });
  });

  it('reads every JSON answer', () => {
    const answers: Readonly<Record<string, ZodType>> = {
      create_session: sessionAnswer,
      create_model: modelAnswer,
      unload_model: pendingAnswer,
      forward_backward: pendingAnswer,
      optim_step: pendingAnswer,
      save_weights: pendingAnswer,
      save_weights_for_sampler: pendingAnswer,
      asample: pendingAnswer,
      weights_info: weightsInfoAnswer,
    };
    const read = exchanges.filter(({ path: at, res, status }) => {
      const schema = answers[at.slice(paths.root.length)];
      if (status === 200) schema?.parse(res);
      return status === 200 && schema !== undefined;
    });
    expect(read.length).toBeGreaterThan(20);
    expect(stepResult.parse({ metrics: { 'skyrl.ai/grad_norm': 17.3 } })).toBeTruthy();
    for (const { path: at, res, status } of exchanges) {
      if (!at.endsWith('retrieve_future') || status !== 200 || bytesOf(res)) continue;
      const schemas = [modelResult, stepResult.required(), saveResult, samplerResult];
      expect(schemas.some((schema) => schema.safeParse(res).success)).toBe(true);
    }
  });
});
