/** Codec tests with messages that no capture contains, and with invalid bytes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  actionFor,
  alignPromptLogprobs,
  decodeForwardBackward,
  decodeForwardBackwardResult,
  decodeSampleResult,
  encodeForwardBackward,
  encodeForwardBackwardResult,
  encodeSampleResult,
  errorDetail,
  formatTinkerPath,
  parseTinkerPath,
} from '../../src/protocol/index.js';

const ids = fc
  .array(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { maxLength: 12 })
  .map((values) => Int32Array.from(values));
const floats = fc.array(fc.float(), { maxLength: 12 }).map((values) => Float32Array.from(values));
const name = fc.stringMatching(/^[a-z_]{1,8}$/);
const datum = fc.record({
  tokens: ids,
  inputs: fc.dictionary(name, fc.oneof(ids, floats), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
});

describe('passes', () => {
  it('come back as they were sent', () => {
    const request = fc.record({
      modelId: fc.string(),
      seqId: fc.option(fc.integer({ min: 1, max: 2 ** 31 - 1 }), { nil: undefined }),
      data: fc.array(datum, { maxLength: 3 }),
      lossFn: fc.string(),
      lossConfig: fc.dictionary(name, fc.oneof(fc.double({ noNaN: true }), fc.string()), {
        maxKeys: 3,
        noNullPrototype: true,
      }),
      forwardOnly: fc.boolean(),
    });
    fc.assert(
      fc.property(request, (sent) => {
        expect(decodeForwardBackward(encodeForwardBackward(sent))).toEqual(sent);
      }),
      { numRuns: 60 },
    );
  });

  it('have results of rows of any length, none included', () => {
    const result = {
      outputType: 'scalar',
      outputs: [[1.5, -2], [], [Number.NaN]].map((values) => ({
        logprobs: Float32Array.from(values),
        ids: Int32Array.from(values.map((_, i) => i)),
      })),
      metrics: { 'loss:sum': 0.5 },
    };
    expect(decodeForwardBackwardResult(encodeForwardBackwardResult(result))).toEqual(result);
    const none = { outputType: 'scalar', outputs: [], metrics: {} };
    expect(decodeForwardBackwardResult(encodeForwardBackwardResult(none))).toEqual(none);
  });

  it('skip fields that are not known', () => {
    const sent = { modelId: 'm', seqId: 1, data: [], lossFn: 'ppo' };
    // Field 200, length-delimited, and field 201, a varint.
    const later = [0xc2, 0x0c, 0x02, 0x61, 0x62, 0xc8, 0x0c, 0x07];
    const bytes = Uint8Array.from([...encodeForwardBackward(sent), ...later]);
    expect(decodeForwardBackward(bytes)).toMatchObject(sent);
  });

  it.each([
    ['an image', [0x1a, 0x04, 0x0a, 0x02, 0x12, 0x00], /data\[0\]\.model_input\[0\] is no text/],
    [
      'a sparse tensor',
      [0x1a, 0x0c, 0x12, 0x0a, 0x0a, 0x01, 0x77, 0x12, 0x05, 0x12, 0x01, 0x00, 0x18, 0x01],
      /loss_fn_inputs\.w is a sparse tensor/,
    ],
    ['bytes that are no message', [0xff, 0xff], /./],
  ])('refuse %s', (_, bytes, message) => {
    expect(() => decodeForwardBackward(Uint8Array.from(bytes))).toThrow(message);
  });
});

describe('samples', () => {
  it('come back as they were sent', () => {
    const result = {
      sequences: [
        {
          stopReason: 'length' as const,
          tokens: Int32Array.of(1, 2),
          logprobs: Float32Array.of(-1, -2),
        },
        { stopReason: 'stop' as const, tokens: Int32Array.of(), logprobs: Float32Array.of() },
      ],
      promptLogprobs: Float32Array.of(-0.5),
    };
    expect(decodeSampleResult(encodeSampleResult(result))).toEqual(result);
  });

  it('have prompt log-probabilities with or without a first one', () => {
    const expected = Float32Array.of(-1, -2);
    expect(alignPromptLogprobs(expected, 3)).toEqual(expected);
    expect(alignPromptLogprobs(Float32Array.of(Number.NaN, -1, -2), 3)).toEqual(expected);
    expect(() => alignPromptLogprobs(expected, 5)).toThrow('2 log-probabilities of a prompt of 5');
  });
});

describe('answers that are no success', () => {
  it.each([
    [408, 'future', 'poll-again', 'Timeout waiting for result'],
    [408, 'submit', 'retry', ''],
    [415, 'submit', 'invalid', 'forward_backward requires a application/x-protobuf body'],
    [422, 'submit', 'invalid', 'Invalid proto forward_backward body: wrong'],
    [422, 'submit', 'unsupported', '[{"type":"literal_error","loc":["loss_fn"]}]'],
    [422, 'submit', 'unsupported', "loss_fn='ppo': Invalid loss_fn_config keys"],
    [400, 'future', 'unsupported', "Loss functions ['gspo'] are not supported"],
    [400, 'submit', 'invalid', 'LoadWeights is not permitted with seq_id 3'],
    [400, 'future', 'lost', 'Model model_1 not loaded (likely stale request)'],
    [400, 'future', 'full', '[Errno 28] No space left on device'],
    [409, 'submit', 'invalid', 'Training request sequence number was reused'],
    [404, 'submit', 'lost', "Model 'm' not found"],
    [404, 'future', 'lost', 'Future not found'],
    [401, 'submit', 'forbidden', ''],
    [429, 'submit', 'retry', ''],
    [503, 'submit', 'retry', ''],
    [500, 'future', 'retry', 'Unknown error'],
  ] as const)('%i of a %s means %s', (status, place, action, detail) => {
    expect(actionFor(status, place, detail)).toBe(action);
  });

  it('say why in words', () => {
    expect(errorDetail('{"detail":"Model not found"}')).toBe('Model not found');
    expect(errorDetail('{"detail":[{"type":"missing"}]}')).toBe('[{"type":"missing"}]');
    expect(errorDetail('{"error":"no slot","category":"user"}')).toBe('no slot');
    expect(errorDetail('<html>502</html>')).toBe('<html>502</html>');
  });
});

describe('paths of weights', () => {
  it('have a model, a kind and a name', () => {
    const path = { modelId: 'model_1', kind: 'weights', name: 'ck1' } as const;
    expect(formatTinkerPath(path)).toBe('tinker://model_1/weights/ck1');
    expect(parseTinkerPath('tinker://model_1/weights/ck1')).toEqual(path);
    expect(parseTinkerPath('tinker://model_1/ck1')).toBeUndefined();
    expect(parseTinkerPath('/models/ck1')).toBeUndefined();
  });
});
