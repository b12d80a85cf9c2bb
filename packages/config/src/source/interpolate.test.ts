import { describe, expect, it } from 'vitest';
import { interpolate } from './interpolate.js';
import { nodeAt, toPlain } from './node.js';
import { parseTree } from './parse.js';

const env = { NAME: 'run', SIZE: '8', EMPTY: '', WHICH: 'NAME', LIST: '[1, two]' };

function resolve(text: string): { readonly value: unknown; readonly problems: readonly string[] } {
  const { root } = parseTree(text);
  if (root === undefined) throw new TypeError('not a map');
  const defaults = new Map<string, unknown>([
    ['model.temperature', 1],
    ['model.max_model_len', null],
  ]);
  const result = interpolate(root, {
    env,
    defaultAt: (path) =>
      defaults.has(path.join('.')) ? { value: defaults.get(path.join('.')) } : undefined,
  });
  return { value: toPlain(result.root), problems: result.problems.map(({ message }) => message) };
}

describe('interpolation', () => {
  it.each<readonly [string, unknown]>([
    ['${oc.env:NAME}', 'run'],
    ['${oc.env:SIZE}', '8'],
    ['${oc.env:EMPTY,x}', ''],
    ['${oc.env:NONE,x}', 'x'],
    ['${oc.env:NONE, with spaces }', 'with spaces'],
    ["${oc.env:NONE,'a, b'}", 'a, b'],
    ['${oc.env:NONE,null}', null],
    ["${oc.env:NONE,'null'}", 'null'],
    ['${oc.env:NONE,${oc.env:NAME}}', 'run'],
    ['${oc.env:${oc.env:WHICH}}', 'run'],
    ['${oc.env:NONE,${b}/x}', '7/x'],
    ['a-${oc.env:NAME}-${b}', 'a-run-7'],
    ['${oc.decode:${oc.env:SIZE}}', 8],
    ['${oc.decode:${oc.env:LIST}}', [1, 'two']],
    ['${oc.decode:"{a: 1}"}', { a: 1 }],
    ['${oc.decode:true}', true],
    ['${oc.decode:null}', null],
    ['${b}', 7],
    ['${c.d}', [1, { e: 'x' }]],
    ['${c.d[1].e}', 'x'],
    ['${c.d.1.e}', 'x'],
    ['${c.${f}[0]}', 1],
    ['${.b}', 7],
    ['${model.temperature}', 1],
    ['${model.max_model_len}', null],
    ['${oc.select:c.none,5}', '5'],
    ['${oc.select:c.none}', null],
    ['${oc.select:b,5}', 7],
    ['${oc.create:${c.d}}', [1, { e: 'x' }]],
    ['\\${b}', '${b}'],
    ['costs $5 {x}', 'costs $5 {x}'],
  ])('%s is %j', (text, value) => {
    expect(resolve(`a: ${JSON.stringify(text)}\nb: 7\nc: {d: [1, {e: x}]}\nf: d\n`)).toEqual({
      value: { a: value, b: 7, c: { d: [1, { e: 'x' }] }, f: 'd' },
      problems: [],
    });
  });

  it('goes through values that are interpolations themselves, in any order', () => {
    expect(resolve('a: ${b.x}\nb: ${c}\nc: {x: "${d}"}\nd: 1').value).toEqual({
      a: 1,
      b: { x: 1 },
      c: { x: 1 },
      d: 1,
    });
  });

  it('finds relatives of nested keys', () => {
    expect(resolve('a: {b: "${.c}", c: 1, d: {e: "${..c}"}}').value).toEqual({
      a: { b: 1, c: 1, d: { e: 1 } },
    });
  });

  it('keeps the text of a number', () => {
    const text = 'a: 1.10\nb: "${a}"\nc: "x-${b}-${d}"\nd: 007';
    expect(resolve(text).value).toMatchObject({ b: 1.1, c: 'x-1.10-007' });
    const { root } = parseTree(text);
    const resolved = interpolate(root!, { env, defaultAt: () => undefined }).root;
    expect(nodeAt(resolved, ['b'])).toMatchObject({ source: '1.10' });
  });

  it.each([
    ['1e-6', '0.000001'],
    ['1.0e-5', '0.00001'],
    ['0x10', '16'],
    ['0o17', '15'],
    ['+5', '5'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['1_000', '1_000'],
    ['-1.50', '-1.50'],
    ['.inf', 'Infinity'],
  ])('writes %s as %s inside a longer string', (number, text) => {
    expect(resolve(`a: ${number}\nb: "x-\${a}"`).value).toMatchObject({ b: `x-${text}` });
  });

  it.each([
    ['a: ${a}', 'a -> a'],
    ['a: ${b}\nb: x${a}', 'a -> b -> a'],
    ['a: {b: "${a}"}', 'a -> a.b -> a'],
    ['a: ["${a[1]}", "${a[0]}"]', 'a[0] -> a[1] -> a[0]'],
  ])('names the circle of %j', (text, circle) => {
    const { problems } = resolve(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(circle);
  });

  it('leaves out what has no value, and reports only the cause', () => {
    expect(resolve('a: ${oc.env:NONE}\nb: ${a}\nc: x-${b}\nd: 1')).toEqual({
      value: { d: 1 },
      problems: [expect.stringContaining('NONE is not set')],
    });
  });

  it.each([
    ['a: "x-${c}"\nc: {d: 1}', 'cannot stand inside a longer string'],
    ['a: "x-${c}"\nc: null', 'is nothing'],
    ['a: ${}', 'is empty'],
    ['a: {b: "${...c}", c: 1}', 'above the top level of the file: here at most 2 dots'],
    ['a: {b: "${oc.select:....c,5}", c: 1}', 'above the top level'],
    ['a: "${oc.env:}"', 'needs a value'],
    ['a: "${oc.env:A,b,c}"', 'at most two'],
    ['a: "${b.c}"\nb: 1', 'b.c, which does not exist'],
    ['a: "${oc.decode:${b}}"\nb: {c: 1}', 'takes text'],
  ])('reports %j', (text, says) => {
    expect(resolve(text).problems).toEqual([expect.stringContaining(says)]);
  });
});

describe('interpolation without bounds', () => {
  const doubled = (first: string, next: (before: string) => string): string =>
    Array.from({ length: 60 }, (_, i) => `b${i}: ${i === 0 ? first : next(`\${b${i - 1}}`)}`).join(
      '\n',
    );
  const chain = `${Array.from({ length: 2000 }, (_, i) => `c${i}: "\${c${i + 1}}"`).join('\n')}\nc2000: 1`;
  it.each<readonly [string, string, RegExp]>([
    [
      'texts that double',
      doubled('0123456789', (b) => `"${b}${b}"`),
      /more than 1000000 characters/,
    ],
    [
      'lists that double',
      doubled('[1]', (b) => `["${b}", "${b}"]`),
      /more than 1000000 characters/,
    ],
    ['nesting', `a: "${'${oc.env:'.repeat(500)}X${'}'.repeat(500)}"`, /more than 16 levels deep/],
    ['a chain', chain, /^More than 200 keys refer to each other/],
    ['what is not closed', `a: "${'${a'.repeat(500)}"`, /^.{80,100}\.\.\." is not closed/],
    ['a NUL character', 'a: "x\\0y"', /holds a NUL character/],
  ])('%s: an error', (_, text, message) => {
    expect(resolve(text).problems[0]).toMatch(message);
  });
});
