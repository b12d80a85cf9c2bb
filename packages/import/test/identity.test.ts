/** Rows that an import has written stay the same when they are imported again. */
import type { ChatMessage } from '@trinity-rft/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { importFrom, importLines, type Row } from './support.js';

const text = fc.string({ minLength: 1 });
const user = text.map((content): ChatMessage => ({ role: 'user', content }));
const call = fc.record({ a: fc.integer(), b: text }).map((args, ..._rest): ChatMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [
    { id: 'call_1', type: 'function', function: { name: 'f', arguments: JSON.stringify(args) } },
  ],
}));
const result = text.map((content): ChatMessage => ({
  role: 'tool',
  content,
  tool_call_id: 'call_1',
}));
const answer = fc
  .record({ content: text, weight: fc.constantFrom<1 | undefined>(1, undefined) })
  .map(({ content, weight }): ChatMessage => ({
    role: 'assistant',
    content,
    ...(weight !== undefined && { weight }),
  }));
const tools = fc.constantFrom<Row>(
  {},
  { tools: [{ type: 'function', function: { name: 'f', strict: true } }] },
);
const prompt = fc.oneof(fc.tuple(user), fc.tuple(user, call, result, answer, user));

const kinds = {
  sft: fc
    .tuple(prompt, answer, tools)
    .map(([before, last, more]): Row => ({ messages: [...before, last], ...more })),
  dpo: fc
    .tuple(prompt, fc.uniqueArray(text, { minLength: 2, maxLength: 2 }), tools)
    .map(([before, [chosen, rejected], more]): Row => ({
      prompt: before,
      chosen: [{ role: 'assistant', content: chosen }],
      rejected: [{ role: 'assistant', content: rejected }],
      ...more,
    })),
  tasks: fc
    .tuple(prompt, text, tools)
    .map(([before, truth, more]): Row => ({ messages: before, answer: truth, ...more })),
};

it.each(['sft', 'dpo', 'tasks'] as const)('imports its own rows of %s as they are', (kind) =>
  fc.assert(
    fc.asyncProperty(fc.array(kinds[kind], { minLength: 1, maxLength: 5 }), async (made) => {
      const once = await importLines(made);
      const again = await importFrom(once.output);
      expect(again.report).toMatchObject({ as: kind, skipped: [], duplicates: 0 });
      expect(again.rows).toEqual(once.rows);
      // The first import drops duplicates, and adds the question of a task.
      expect(once.rows).toMatchObject(made.filter((row, i) => firstOf(made, row) === i));
    }),
    { numRuns: 50 },
  ),
);

const firstOf = (rows: readonly Row[], row: Row): number =>
  rows.findIndex((other) => JSON.stringify(other) === JSON.stringify(row));
