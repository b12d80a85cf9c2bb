import { describe, expect, it } from 'vitest';
import { copyOf } from './copy-of.js';
import { createExperience } from './experience.js';
import { readExperience } from './returned-experience.js';
import { returnedBy } from './returned.js';
import { RewardError } from './errors.js';

const returned = returnedBy('Function "f"', (message) => new RewardError(message), ' on task 1');

const throwing = Object.defineProperty({}, 'reward', {
  enumerable: true,
  get: () => {
    throw new Error('no reward yet');
  },
});
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const messageOf = (value: unknown): string => {
  try {
    return JSON.stringify(returned.rewardParts(value));
  } catch (error) {
    expect(error).toBeInstanceOf(RewardError);
    return (error as Error).message;
  }
};

describe('rewards', () => {
  it.each([
    [0.5, 0.5, {}],
    [true, 1, {}],
    [false, 0, {}],
    [{ a: 1, b: true }, 2, { a: 1, b: 1 }],
  ])('%j is %d', (value, reward, parts) => {
    expect(returned.rewardParts(value)).toEqual({ reward, parts, reasons: {} });
  });

  it.each([
    [undefined, 'returned nothing on task 1; expected a finite number'],
    [null, 'returned null'],
    ['1', "returned '1'"],
    [1n, 'returned 1n'],
    [[], 'returned []'],
    [{}, 'returned {}'],
    [NaN, 'returned NaN'],
    [new Float32Array(2), 'returned a Float32Array'],
    [Promise.resolve(1), 'returned a Promise that was not awaited'],
    [new Map([['a', 1]]), "returned Map(1) { 'a' => 1 }"],
    [() => 1, 'returned [Function (anonymous)]'],
    [{ a: '1' }, 'returned \'1\' for "a" on task 1'],
    [{ a: Promise.resolve(1) }, 'returned a Promise that was not awaited for "a"'],
    [{ a: 9e8, b: 9e8 }, 'returned 1800000000 as the sum of its parts'],
    ['x'.repeat(1e6), "returned 'xxx"],
    [{ ['x'.repeat(1e6)]: 'y' }, "returned 'y' for"],
  ])('refuses %#', (value, message) => {
    expect(messageOf(value)).toContain(message);
    expect(messageOf(value)).toMatch(/^Function "f" returned .{1,400}$/);
  });

  it('refuses what cannot be read', () => {
    expect(messageOf(throwing)).toContain(
      'returned an object that cannot be read on task 1 (no reward yet)',
    );
    expect(messageOf(revoked())).toMatch(/^Function "f" returned /);
  });
});

describe('metrics', () => {
  it('takes numbers and truth values, and leaves out what is undefined', () => {
    expect(returned.metrics({ a: 1, b: true, c: undefined, d: NaN })).toEqual({
      a: 1,
      b: 1,
      d: NaN,
    });
    expect([returned.metrics(undefined), returned.metrics(null)]).toEqual([{}, {}]);
  });

  it.each([
    [[1], 'returned [ 1 ] as metrics'],
    [{ a: 'high' }, 'returned \'high\' for the metric "a"'],
    [{ a: null }, 'returned null for the metric "a"'],
    [{ '': 1 }, 'as the name of a metric'],
    [{ 'a\nb': 1 }, 'as the name of a metric'],
    [{ ['x'.repeat(201)]: 1 }, 'as the name of a metric'],
    [{ 'key sk-abcdefgh12345': 1 }, "returned 'key [redacted]' as the name of a metric"],
    [
      Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`m${i}`, i])),
      'returned 20000 metrics on task 1; expected at most 500',
    ],
  ])('refuses %#', (value, message) => {
    expect(() => returned.metrics(value)).toThrow(message);
  });
});

describe('info', () => {
  it('is a copy', () => {
    const info = { list: [{ a: 1 }, undefined], none: undefined };
    const read = returned.info(info);
    info.list[0] = { a: 2 };
    expect(read).toEqual({ list: [{ a: 1 }, null] });
  });

  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  it.each([
    [{ big: 1n }, 'returned 1n as info'],
    [{ at: new Date(0) }, 'plain JSON values only'],
    [{ list: new Float32Array(1) }, 'returned a Float32Array as info'],
    [{ call: () => 1 }, 'plain JSON values only'],
    [circle, 'at most 100 levels'],
    [{ text: 'x'.repeat(1_000_001) }, 'at most 1000000 characters and values'],
    [JSON.parse('{"__proto__": 1}'), 'expected another key'],
  ])('refuses %#', (value, message) => {
    expect(() => returned.info(value)).toThrow(message);
  });
});

describe('readExperience', () => {
  const good = createExperience({
    tokens: [1, 2, 3],
    promptLength: 1,
    reward: 1,
    policyVersion: 0,
  });

  it('copies every part', () => {
    const read = readExperience(good, returned);
    expect(read).toMatchObject({ reward: 1, promptLength: 1, policyVersion: 0, eid: good.eid });
    expect([...read.tokens]).toEqual([1, 2, 3]);
    expect([read.tokens === good.tokens, read.info === good.info]).toEqual([false, false]);
  });

  it.each([
    [null, 'returned null'],
    [{ ...good, eid: undefined }, 'makes it, with an eid'],
    [{ ...good, tokens: [1, 2.5, 3] }, 'returned 2.5 as token 1 of an experience'],
    [{ ...good, tokens: [1, -2, 3] }, 'returned -2 as token 1'],
    [{ ...good, tokens: Float64Array.of(1, NaN, 3) }, 'returned NaN as token 1'],
    [{ ...good, tokens: [1, 2 ** 32, 3] }, 'returned 4294967296 as token 1'],
    [{ ...good, tokens: 'abc' }, "returned 'abc' as tokens"],
    [{ ...good, actionMask: [256, 0.9] }, 'returned 256 as entry 0 of actionMask'],
    [{ ...good, actionMask: BigInt64Array.of(1n, 1n) }, 'returned a BigInt64Array as actionMask'],
    [{ ...good, logprobs: [-1n, -1n] }, 'returned [ -1n, -1n ] as logprobs'],
    [{ ...good, logprobs: new Float32Array(3) }, 'logprobs has 3 entries'],
    [{ ...good, reward: '1' }, "returned '1' as the reward of an experience"],
    [{ ...good, eid: { ...good.eid, step: 0.5 } }, 'returned 0.5 as eid.step'],
    [{ ...good, eid: { ...good.eid, suffix: 3 } }, 'returned 3 as eid.suffix'],
    [{ ...good, spans: 7 }, 'returned 7 as spans'],
  ])('refuses %#', (value, message) => {
    expect(() => readExperience(value, returned)).toThrow(message);
  });
});

it('copies rows with typed arrays, and keeps what is no data', () => {
  const call = (): number => 1;
  const row = { list: [{ a: 1 }], bytes: new Uint8Array(8).subarray(2, 4), call, none: null };
  const copy = copyOf(row);
  expect(copy).toEqual(row);
  copy.list[0]!.a = 2;
  copy.bytes[0] = 9;
  expect([row.list[0]!.a, row.bytes[0], copy.bytes.buffer.byteLength]).toEqual([1, 0, 2]);
});

it.each([
  ['a Buffer', Buffer.from('abcd').subarray(1, 3)],
  ['a DataView', new DataView(new ArrayBuffer(4), 1, 2)],
  ['a typed array', Int16Array.of(1, 2, 3).subarray(1)],
  ['an ArrayBuffer', new ArrayBuffer(2)],
])('copies the bytes of %s', (_what, value) => {
  const bytesOf = (data: ArrayBufferView | ArrayBuffer): Uint8Array =>
    data instanceof ArrayBuffer
      ? new Uint8Array(data)
      : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const before = [...bytesOf(value)];
  const copy = copyOf(value);
  expect(copy.constructor).toBe(value.constructor);
  expect([...bytesOf(copy)]).toEqual(before);
  bytesOf(copy).fill(9);
  expect([...bytesOf(value)]).toEqual(before);
});
