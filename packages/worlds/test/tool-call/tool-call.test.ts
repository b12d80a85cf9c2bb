/** Compares verdicts with those of BFCL's own checker for right and wrong calls. */
import { readFileSync } from 'node:fs';
import { silentLogger, type Experience } from '@trinity-rft/core';
import type { ToolAction } from '@trinity-rft/environment';
import { createEnvironments } from '@trinity-rft/environment/playing';
import { scriptedModel, tryWorkflow } from '@trinity-rft/workflow';
import { environmentWorkflow } from '../../src/index.js';
import { toolCall } from '../../src/worlds/tool-call/definition.js';
import { expect, it } from 'vitest';
import { areRightCalls, type Call } from '../../src/worlds/tool-call/check-calls.js';
import { rowsOfLevel } from '../../src/worlds/tool-call/rows.js';

const cases = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
) as readonly { readonly id: string; readonly calls: readonly Call[]; readonly valid: boolean }[];

it("judges calls as BFCL's checker does", () => {
  const rows = new Map([1, 2, 3].flatMap(rowsOfLevel).map((row) => [row.id, row]));
  const wrong = cases.filter(({ id, calls, valid }) => {
    const { functions = [], answers = [] } = rows.get(id) ?? {};
    return areRightCalls(functions, calls, answers) !== valid;
  });
  expect(wrong).toEqual([]);
  expect(cases.length).toBeGreaterThan(1800);
});

it.each(['constructor', 'toString', '__proto__'])('judges arguments named %s as others', (name) => {
  const parameters = { type: 'dict', properties: { a: { type: 'string' } }, required: [] };
  const functions = [{ name: 'f', description: '', parameters }];
  const given = Object.fromEntries([[name, 'y']]);
  const verdict = (args: Readonly<Record<string, unknown>>, wanted: readonly string[]) =>
    areRightCalls(
      functions,
      [{ name: 'f', arguments: args }],
      [{ f: Object.fromEntries(wanted.map((key) => [key, ['x']])) }],
    );
  expect(verdict({ ...given, a: 'x' }, ['a'])).toBe(false);
  expect(verdict({ a: 'x' }, ['a', name])).toBe(false);
  expect(verdict({ a: 'x' }, ['a'])).toBe(true);
  const dict = { type: 'dict', properties: { d: { type: 'dict' } }, required: [] };
  const ofDict = [{ name: 'f', description: '', parameters: dict }];
  const calls = [{ name: 'f', arguments: { d: given } }];
  expect(areRightCalls(ofDict, calls, [{ f: { d: [{}] } }])).toBe(false);
});

it('refuses tools that do not exist, and ends after the calls that were asked for', async () => {
  const { signal } = new AbortController();
  const environment = await toolCall.open({}, { logger: silentLogger, signal });
  const row = rowsOfLevel(3)[0] ?? rowsOfLevel(2)[0];
  const episode = await environment.reset({ row: { ...row }, seed: 0 }, signal);
  const call = (name: string) => episode.step({ type: 'tool', name, arguments: {} }, signal);
  expect(await call('nothing')).toMatchObject({ refused: true, done: false });
  const name = episode.tools?.[0]?.function.name ?? '';
  expect(name).not.toContain('.');
  expect(await call(name)).toMatchObject({ done: false, observation: 'Noted.' });
  for (let left = (row?.answers.length ?? 0) - 2; left > 0; left--) await call(name);
  expect(await call(name)).toMatchObject({ done: true, reward: 0 });
});

it('grades all calls of a message', async () => {
  const [row] = rowsOfLevel(2);
  const solver = toolCall.solver?.({ row: { ...row }, seed: 0 }, {});
  const right = solver?.('') as ToolAction;
  const name = right.name;
  const played = async (calls: readonly object[]) => {
    const environments = createEnvironments([toolCall]);
    const answer = { toolCalls: calls.map((given) => ({ name, arguments: given })) };
    const result = await tryWorkflow(environmentWorkflow(environments), {
      model: scriptedModel({ answers: [answer] }),
      rawTask: { ...row },
      task: { workflowArgs: { environment: 'tool_call' } },
    });
    await environments.close();
    return (result as readonly Experience[]).map(({ reward }) => reward);
  };
  expect(await played([right.arguments])).toEqual([1]);
  expect(await played([right.arguments, {}, {}])).toEqual([0]);
});

it.each([1, 2, 3])('makes requests of level %d up, which the solver fulfils', async (level) => {
  const { signal } = new AbortController();
  const args = { level, rows: 'generated' };
  const environment = await toolCall.open(args, { logger: silentLogger, signal });
  const rows = toolCall.tasks?.({ split: 'eval', count: 100, seed: 7 }, args) ?? [];
  expect(new Set(rows.map(({ question }) => question)).size).toBe(100);
  for (const row of rows) {
    expect(row['question']).not.toMatch(/[{}]/);
    const episode = await environment.reset({ row, seed: 0 }, signal);
    expect(episode.tools).toHaveLength(level === 1 ? 1 : 4);
    const solver = toolCall.solver?.({ row, seed: 0 }, args) ?? (() => undefined);
    let reward: number | undefined = 0;
    for (let action = solver(''); action !== undefined; action = solver(''))
      ({ reward } = await episode.step(action, signal));
    expect(reward).toBe(1);
  }
});
