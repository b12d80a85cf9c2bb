import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codecVersion, decodeExperience, encodeExperience } from './codec.js';
import { decodeFields } from './codec-fields.js';
import { BufferError } from './errors.js';
import { createExperience, withFields, type Experience } from './experience.js';

const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
const plainNumber = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.stringify(value).replaceAll('-0', '0'))
  .filter((text) => !text.includes('__proto__'))
  .map((text) => JSON.parse(text) as unknown);
const record = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.dictionary(
    fc.string().filter((name) => name !== '__proto__'),
    values,
    { noNullPrototype: true },
  );

class Run {
  readonly number = 1;
}

const experience: fc.Arbitrary<Experience> = fc.nat({ max: 12 }).chain((extra) => {
  const length = extra + 1;
  const perToken = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    fc.array(values, { minLength: length, maxLength: length });
  return fc
    .record({
      prompt: fc.array(fc.nat({ max: 200_000 }), { minLength: 1, maxLength: 5 }),
      response: perToken(fc.nat({ max: 200_000 })),
      actionMask: perToken(fc.boolean()),
      logprobs: perToken(fc.float({ max: 0, noNaN: true, noDefaultInfinity: true })),
      advantages: fc.option(perToken(float32), { nil: undefined }),
      teacherLogprobs: fc.option(perToken(float32), { nil: undefined }),
      reward: fc.option(plainNumber, { nil: undefined }),
      eid: fc.record({
        batch: fc.oneof(fc.nat(), fc.string()),
        task: fc.oneof(fc.nat(), fc.string()),
        run: fc.nat(),
        step: fc.nat(),
        suffix: fc.string(),
      }),
      policyVersion: fc.integer({ min: -1, max: 1e6 }),
      temperature: plainNumber,
      text: fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
      metrics: record(plainNumber),
      info: record(json),
    })
    .map(({ prompt, response, text, advantages, teacherLogprobs, reward, ...fields }) => {
      const made = createExperience({
        ...fields,
        tokens: [...prompt, ...response],
        promptLength: prompt.length,
        ...(teacherLogprobs && { teacherLogprobs }),
        ...(reward !== undefined && { reward: reward + 0 }),
        ...(text !== undefined && { responseText: text }),
      });
      return advantages ? withFields(made, { advantages: Float32Array.from(advantages) }) : made;
    });
});

describe('the codec of experiences', () => {
  it('gives back what it was given, bit for bit', () => {
    fc.assert(
      fc.property(experience, (original) => {
        expect(decodeExperience(encodeExperience(original))).toEqual(withoutZeroSign(original));
      }),
    );
  });

  it('reads from a view at any offset, as files and databases give it', () => {
    const original = createExperience({
      tokens: [1, 2, 3, 4],
      promptLength: 1,
      logprobs: [-0.1, -0.2, -0.3],
      reward: 0.5,
    });
    const bytes = encodeExperience(original);
    const pool = Buffer.alloc(bytes.length + 7, 255);
    pool.set(bytes, 7);
    expect(decodeExperience(pool.subarray(7))).toEqual(original);
    expect(decodeExperience(Buffer.from(bytes))).toEqual(original);
  });

  it('encodes arrays that are views, and no more than the view', () => {
    const store = Float32Array.of(9, -0.5, -0.25, 9);
    const original = withFields(createExperience({ tokens: [1, 2, 3], promptLength: 1 }), {
      logprobs: store.subarray(1, 3),
    });
    expect([...decodeExperience(encodeExperience(original)).logprobs]).toEqual([-0.5, -0.25]);
  });

  const good = createExperience({ tokens: [1, 2, 3], promptLength: 1 });
  it('refuses to store what is misaligned or not plain', () => {
    expect(() => encodeExperience(withFields(good, { logprobs: new Float32Array(1) }))).toThrow(
      /logprobs has 1 entries; expected one per response token, 2/,
    );
    expect(() => encodeExperience(withFields(good, { info: { call: () => 1 } }))).toThrow(
      /plain JSON values/,
    );
    expect(() =>
      encodeExperience(
        withFields(good, { info: { call: JSON.parse('[{"__proto__":1}]') as unknown } }),
      ),
    ).toThrow(/a key named __proto__/);
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(() => encodeExperience(withFields(good, { info: loop }))).toThrow(BufferError);
  });

  const odd: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['a date', { info: { at: [new Date(0)] } }, 'info.at.0 is of type Date'],
    ['bytes', { info: { bytes: Uint8Array.of(1) } }, 'info.bytes is of type Uint8Array'],
    ['a map', { info: { seen: new Map([['a', 1]]) } }, 'info.seen is of type Map'],
    ['an address', { info: { url: new URL('http://a') } }, 'info.url is of type URL'],
    ['an error', { info: { error: new TypeError('x') } }, 'info.error is of type TypeError'],
    ['an object of a class', { info: { run: new Run() } }, 'info.run is of type Run'],
    ['a function', { info: { call: () => 1 } }, 'info.call is of type function'],
    ['a big integer', { metrics: { count: 1n } }, 'metrics.count is of type bigint'],
    [
      'an id that is no text',
      { eid: { ...good.eid, task: new Date(0) } },
      'eid.task is of type Date',
    ],
    ['info that is no object', { info: new Map() }, 'info is of type Map'],
    ['numbers of another type', { logprobs: [-1, -1] }, 'logprobs is not a Float32Array'],
    ['doubles', { advantages: Float64Array.of(1, 1) }, 'advantages is not a Float32Array'],
  ];
  it.each(odd)('names what it would store as something else: %s', (_what, fields, where) => {
    expect(() => encodeExperience({ ...good, ...fields })).toThrow(where);
  });

  it.each([
    ['bytes that are not msgpack', Uint8Array.of(0xc1), 'CODEC_DAMAGED'],
    ['no bytes', new Uint8Array(), 'CODEC_DAMAGED'],
    [
      'a truncated record',
      encodeExperience(createExperience({ tokens: [1, 2], promptLength: 1 })).slice(0, -3),
      'CODEC_DAMAGED',
    ],
    ['another version', encode({ v: codecVersion + 1, fields: {} }), 'CODEC_VERSION'],
    ['something else', encode([1, 2]), 'CODEC_VERSION'],
    ['a record without fields', encode({ v: codecVersion, fields: {} }), 'CODEC_DAMAGED'],
    [
      'a field of the wrong kind',
      encode({ v: codecVersion, fields: { tokens: 'abc' } }),
      'CODEC_DAMAGED',
    ],
    [
      'a field of the wrong length',
      encode({ v: codecVersion, fields: { tokens: Uint8Array.of(1, 2, 3) } }),
      'CODEC_DAMAGED',
    ],
  ])('refuses %s', (_what, bytes, code) => {
    expect(() => decodeExperience(bytes)).toThrow(
      expect.objectContaining({ code, name: BufferError.name }) as Error,
    );
  });

  it('refuses a stored record that is misaligned', () => {
    const { eid, metrics, info } = createExperience({ tokens: [1, 2], promptLength: 1 });
    const four = Uint8Array.of(0, 0, 0, 0);
    const fields = {
      eid,
      metrics,
      info,
      tokens: four,
      promptLength: 1,
      actionMask: Uint8Array.of(1),
      logprobs: four,
      policyVersion: 0,
      temperature: 1,
    };
    expect(() => decodeExperience(encode({ v: codecVersion, fields }))).toThrow(
      /damaged.*promptLength is 1 with 1 tokens/,
    );
  });
});

/** The experience with 0 instead of -0 in plain numbers; typed arrays keep -0. */
function withoutZeroSign(original: Experience): Experience {
  const plain = (value: unknown): unknown => (value === 0 ? 0 : value);
  const metrics = Object.fromEntries(
    Object.entries(original.metrics).map(([name, value]) => [name, plain(value) as number]),
  );
  return {
    ...original,
    metrics,
    temperature: original.temperature + 0,
    ...(original.reward !== undefined && { reward: original.reward + 0 }),
  };
}

describe('decodeFields', () => {
  it('reads single fields of any experience as they were stored', () => {
    fc.assert(
      fc.property(experience, (stored) => {
        const wanted = new Set([
          'eid',
          'info',
          'reward',
          'responseText',
          'policyVersion',
          'logprobs',
        ]);
        const { logprobs, ...fields } = decodeFields(encodeExperience(stored), wanted);
        const { eid, info, reward, responseText, policyVersion } = stored;
        const expected = { eid, info, reward, responseText, policyVersion };
        expect({ reward: undefined, responseText: undefined, ...fields }).toEqual(expected);
        expect((logprobs as Uint8Array).length).toBe(stored.logprobs.byteLength);
      }),
    );
  });

  it('rejects what is not an experience', () => {
    const bytes = encodeExperience(createExperience({ tokens: [1, 2], promptLength: 1 }));
    expect(() => decodeFields(bytes.subarray(0, 20), new Set(['info']))).toThrow(BufferError);
    expect(() => decodeFields(encode('text'), new Set())).toThrow(/damaged: it is not msgpack/);
  });
});
