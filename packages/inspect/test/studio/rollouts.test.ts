import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { recordAnswers } from '@trinity-rft/buffer/internal';
import { createExperience, type Experience, type ExperienceInit } from '@trinity-rft/core';
import { mergeCalls } from '@trinity-rft/core/internal';
import { describe, expect, it } from 'vitest';
import * as schemas from '../../src/studio/interface/rollouts.js';
import { askedText, textBlocks } from '../../src/studio/interface/text-blocks.js';
import {
  openWorkbench,
  polled,
  runId,
  saying,
  tokenizer,
  writeTokenizer,
  type Workbench,
} from './support.js';

const run = `runs/${encodeURIComponent(runId)}`;

const list = (bench: Workbench, query: string) =>
  polled(async () => {
    const { body } = await bench.api(`${run}/rollouts?${query}`);
    return schemas.rolloutPage.parse(body);
  });

const ids = async (bench: Workbench, query: string): Promise<readonly number[]> =>
  (await list(bench, query)).rows.map(({ id }) => id);

/** Two attempts at one task. The first attempt calls a tool, and its second call continues the conversation. */
function attempts(): readonly Experience[] {
  const eid = { batch: 4, task: 1, run: 0, step: 0 };
  const info = { taskset: 'sums', row: 7, finishReason: 'tool_calls' };
  const first = saying('2*21\n', '<tool_call>{2*21}</tool_call>', {
    eid,
    reward: 1,
    info,
    responseText: '',
  });
  const next = [...first.tokens, ...tokenizer.encode('42\n'), ...tokenizer.encode('42')];
  const second = createExperience({
    eid: { ...eid, step: 1 },
    tokens: next,
    promptLength: next.length - 2,
    logprobs: [-0.5, -1],
    policyVersion: 3,
    temperature: 1,
    reward: 1,
    responseText: '42',
    info: { ...info, finishReason: 'stop' },
  });
  const forked = saying('2*21\nAgain: ', '42', {
    eid: { ...eid, step: 2 },
    policyVersion: 3,
    reward: 1,
    info: { ...info, fork: 'history_edited' },
  });
  const other = saying('2*21\n', '40', {
    eid: { ...eid, run: 1 },
    policyVersion: 3,
    reward: 0,
    info: { ...info, finishReason: 'length' },
  });
  return [first, second, forked, other];
}

describe('a conversation', () => {
  it('shows what is new in each call, and where it goes on from or leaves another', async () => {
    const bench = await openWorkbench(attempts());
    const { body } = await bench.api(`${run}/rollouts/2/conversation`);
    const { calls } = schemas.conversation.parse(body);
    expect(calls.map(({ beginning, after, fork }) => [beginning, after, fork])).toEqual([
      ['new', undefined, undefined],
      ['spliced', 1, undefined],
      ['forked', 2, 'history_edited'],
    ]);
    const said = calls.map(({ segments }) =>
      segments.map(({ sampled, texts }) => [sampled, texts?.join('')]),
    );
    expect(said).toEqual([
      [
        [false, '2*21\n'],
        [true, '<tool_call>{2*21}</tool_call>'],
      ],
      [
        [false, '42\n'],
        [true, '42'],
      ],
      [
        [false, 'Again: '],
        [true, '42'],
      ],
    ]);
    expect(calls[1]?.segments[1]?.logprobs).toEqual([-0.5, -1]);
    expect(calls[0]?.toolCalls).toBe(1);
    expect((await bench.api(`${run}/rollouts/99/conversation`)).status).toBe(404);
  });

  it('shows merged calls as what they were, each with the weights that wrote it', async () => {
    const [first, second] = attempts();
    const { experiences } = mergeCalls([first!, second!]);
    const bench = await openWorkbench(experiences);
    const { body } = await bench.api(`${run}/rollouts/1/conversation`);
    const { segments = [] } = schemas.conversation.parse(body).calls[0] ?? {};
    expect(segments.map(({ sampled, policyVersion }) => [sampled, policyVersion])).toEqual([
      [false, undefined],
      [true, 0],
      [false, undefined],
      [true, 3],
    ]);
    expect(await list(bench, '')).toMatchObject({
      rows: [{ turns: 2, toolCalls: 1, rows: [1] }],
    });
  });

  it('has the advantages that the trainer used, else the stored ones, else none', async () => {
    const bench = await openWorkbench([saying('a', 'bc'), saying('d', 'ef', { eid: { run: 1 } })]);
    const before = schemas.rolloutDetail.parse((await bench.api(`${run}/rollouts/1`)).body);
    expect(before.advantagesOf).toBeUndefined();
    const lease = await bench.store.take(2);
    await lease!.acknowledge(5, [Float32Array.of(0.5, 0.5), Float32Array.of(NaN, -1)]);
    const [one, two] = await Promise.all(
      [1, 2].map(async (id) =>
        schemas.rolloutDetail.parse((await bench.api(`${run}/rollouts/${id}`)).body),
      ),
    );
    expect(one).toMatchObject({
      advantagesOf: 'trainer',
      uses: [{ trainStep: 5, dropped: false, advantage: 0.5 }],
    });
    expect(two?.advantagesOf).toBe('trainer');
    const advantages = async (id: number) => {
      const { body } = await bench.api(`${run}/rollouts/${id}/conversation`);
      return schemas.conversation.parse(body).calls[0]?.segments.map((each) => each.advantages);
    };
    expect([await advantages(1), await advantages(2)]).toEqual([
      [undefined, [0.5, 0.5]],
      [undefined, [-1, -1]],
    ]);
    expect(await list(bench, 'sort=advantage')).toMatchObject({
      rows: [
        { id: 2, advantage: -1, staleness: 4, trainStep: 5 },
        { id: 1, advantage: 0.5 },
      ],
    });
  });
});

describe('the list of tasks', () => {
  const attempt = (row: number, batch: number, reward: number | undefined, more = {}) =>
    saying(`task ${row}`, 'x', {
      eid: { batch, task: row, ...more },
      reward,
      info: { taskset: 'sums', row },
    });

  const tasks = (bench: Workbench, query: string) =>
    polled(async () => schemas.taskPage.parse((await bench.api(`${run}/tasks?${query}`)).body));

  it('tells what attempts got first and get now, by what changed', async () => {
    const bench = await openWorkbench([
      attempt(1, 1, 0),
      attempt(1, 1, 1, { run: 1 }),
      // Two calls of one attempt: the last one has what it came to.
      attempt(2, 1, 0),
      attempt(2, 1, 1, { step: 1 }),
      attempt(3, 1, 1),
      attempt(4, 1, undefined),
      attempt(1, 2, 1),
      attempt(2, 2, 0.25),
      attempt(4, 2, 1),
      saying('of no task set', 'x', { eid: { batch: 9 } }),
    ]);
    const all = await tasks(bench, 'descending=true');
    expect(all).toMatchObject({ tasks: 4, better: 1, worse: 1, same: 0 });
    expect(all.rows.map(({ id: _id, ...task }) => task)).toEqual([
      { taskset: 'sums', row: 1, question: 'task 1', times: 2, first: 0.5, latest: 1, change: 0.5 },
      {
        taskset: 'sums',
        row: 2,
        question: 'task 2',
        times: 2,
        first: 1,
        latest: 0.25,
        change: -0.75,
      },
      { taskset: 'sums', row: 3, question: 'task 3', times: 1, first: 1, latest: 1 },
      { taskset: 'sums', row: 4, question: 'task 4', times: 2, latest: 1 },
    ]);
    const rows = async (query: string) => (await tasks(bench, query)).rows.map(({ row }) => row);
    expect(await rows('')).toEqual([2, 1, 3, 4]);
    expect(await rows('sort=first&descending=true&size=2')).toEqual([2, 3]);
    expect(await rows('sort=first&descending=true&size=2&page=1')).toEqual([1, 4]);
  });

  it('has the hardest first where each was visited once', async () => {
    const once = [attempt(1, 1, 1), attempt(2, 1, 0.25), attempt(3, 1, undefined)];
    const bench = await openWorkbench([...once, attempt(4, 1, 0.5)]);
    const { rows } = await tasks(bench, 'sort=change&descending=true');
    expect(rows.map(({ row }) => row)).toEqual([2, 4, 1, 3]);
  });

  it('has none where no record says of which task it is', async () => {
    const bench = await openWorkbench([saying('a', 'b')]);
    expect(await tasks(bench, '')).toEqual({ rows: [], tasks: 0, better: 0, worse: 0, same: 0 });
  });
});

describe('a group', () => {
  it('has the best attempt first, and says why an attempt is missing', async () => {
    const bench = await openWorkbench(attempts());
    const log = path.join(bench.root, runId, 'log');
    mkdirSync(log);
    const failed = (name: string, what: string): string =>
      `WARN  2026-11-23T10:00:00.000Z Run ${name} of workflow "sums" failed${what} taskset=sums row=7 attempt=1\n`;
    writeFileSync(
      path.join(log, 'trinity.log'),
      failed('4/1/2', ': The tool <script> is not there.') +
        failed('4/1/1', ' and gets the failure reward 0: It said nothing.') +
        failed('4/1/0', ': Timed out.') +
        failed('4/2/0', ': Of another task.'),
    );
    const { body } = await bench.api(`${run}/rollouts/4/group`);
    expect(schemas.group.parse(body)).toMatchObject({
      taskset: 'sums',
      row: 7,
      question: '2*21',
      attempts: [
        { run: 0, reward: 1, toolCalls: 1, calls: [{ id: 1 }, { id: 2, text: '42' }, { id: 3 }] },
        { run: 1, reward: 0, problem: 'It said nothing.', calls: [{ text: '40' }] },
      ],
      missing: [{ run: 2, failure: 'The tool <script> is not there.' }],
    });
    const failureOf = async (id: number) =>
      schemas.conversation.parse((await bench.api(`${run}/rollouts/${id}/conversation`)).body)
        .failure;
    // The second try of the first attempt succeeded.
    expect([await failureOf(1), await failureOf(4)]).toEqual([undefined, 'It said nothing.']);
    // An attempt that got the failure reward has failed, whatever else it has.
    expect(await ids(bench, 'problem=any')).toEqual([4]);
    expect(await ids(bench, 'problem=failed')).toEqual([4]);
    expect(await ids(bench, 'problem=truncated')).toEqual([]);
  });
});

it('shows the response of every call where calls are merged', async () => {
  const merged = (attempt: number, first: string, last: string): readonly Experience[] => {
    const call = (step: number, prompt: string, response: string): Experience =>
      saying(prompt, response, { eid: { batch: 1, run: attempt, step }, responseText: '' });
    const question = '2*21<|im_end|>\n';
    const answer = `${first}<|im_end|>\n`;
    const secondPrompt = `${question}${answer}<tool_response>no</tool_response>`;
    const secondCall = call(1, secondPrompt, `${last}<|im_end|>`);
    return mergeCalls([call(0, question, answer), { ...secondCall, responseText: last }])
      .experiences;
  };
  const bench = await openWorkbench([
    ...merged(0, 'try 40', 'so 42'),
    ...merged(1, 'try 41', 'so 42'),
    ...merged(2, 'try 42', ''),
  ]);
  const { attempts } = schemas.group.parse((await bench.api(`${run}/rollouts/1/group`)).body);
  expect(attempts.map(({ calls }) => calls.map(({ text }) => text))).toEqual([
    ['try 40', 'so 42'],
    ['try 41', 'so 42'],
    ['try 42', ''],
  ]);
  expect(attempts[0]?.calls.map(({ id, step }) => [id, step])).toEqual([
    [1, 0],
    [1, 1],
  ]);
  // The response of the last call is empty.
  expect((await list(bench, 'run=2')).rows).toMatchObject([{ answer: '' }]);
  const { turnList } = schemas.trace.parse((await bench.api(`${run}/rollouts/1/trace`)).body);
  expect(turnList.map(({ text }) => text)).toEqual(['try 40', 'so 42']);
});

describe('a task over time', () => {
  it('shows the best and the worst answer of each explore step that had it', async () => {
    const at = (batch: number, attempt: number, reward: number, row = 7): Experience =>
      saying('2*21=', `${batch}${attempt}`, {
        eid: { batch, task: attempt, run: attempt },
        policyVersion: batch - 1,
        reward,
        info: { taskset: 'sums', row },
      });
    const rows = [at(1, 0, 0), at(1, 1, 0.5), at(2, 0, 0, 8), at(41, 0, 1), at(41, 1, 0)];
    const bench = await openWorkbench(rows);
    const history = await polled(async () => {
      const { body } = await bench.api(`${run}/rollouts/1/history`);
      return schemas.taskHistory.parse(body);
    });
    expect(history).toMatchObject({
      row: 7,
      left: 0,
      times: [
        { batch: '1', policyVersion: 0, attempts: 2, meanReward: 0.25, best: { text: '11' } },
        { batch: '41', policyVersion: 40, best: { text: '410' }, worst: { text: '411' } },
      ],
    });
  });
});

describe('the problem of a rollout', () => {
  it('is the worst one of its calls', async () => {
    const call = (step: number, info: object): Experience =>
      saying('a', 'b', { eid: { step }, info: { ...info } });
    const bench = await openWorkbench([
      call(0, { fault: 'max_turns' }),
      call(1, { finishReason: 'length' }),
    ]);
    const fault = { problem: 'fault: max_turns', problemKind: 'fault' };
    expect((await list(bench, '')).rows).toMatchObject([fault]);
    expect(await ids(bench, 'problem=fault')).toEqual([1]);
  });
});

describe('a rollout', () => {
  const named = '<tool_call>{"name": "sum"}</tool_call>';

  /** Three calls of one attempt, stored out of order; the response of the first call was truncated. */
  function calls(): readonly Experience[] {
    const eid = { batch: 3, task: 0, run: 0 };
    const at = (start: number) => ({ times: [{ start, end: start + 500 }] });
    const made = (step: number, prompt: string, response: string, more: object): Experience =>
      saying(prompt, response, {
        eid: { ...eid, step },
        reward: step,
        policyVersion: 2,
        metrics: { right: step - 1, brief: 1 },
        info: { taskset: 'sums', row: 7, truth: '42', ...at(10_000 + 1500 * step), ...more },
      });
    return [
      made(1, '<tool_response>42</tool_response>', `${named}${named}`, {}),
      made(0, '2*21', `say ${named}`, { finishReason: 'length' }),
      made(2, '<tool_response>42</tool_response>', '42!', { reasons: { right: 'as expected' } }),
    ];
  }

  it('is one row: its question, answer, expected answer, reward with parts, tools and times', async () => {
    const bench = await openWorkbench([...calls(), saying('9*9', 'x', { reward: 0 })]);
    const [row, ...others] = (await list(bench, '')).rows;
    expect(others).toHaveLength(1);
    expect(row).toMatchObject({
      id: 2,
      rows: [2, 1, 3],
      step: 3,
      question: '2*21',
      answer: '42!',
      truth: '42',
      reward: 2,
      reasons: { right: 'as expected' },
      turns: 3,
      toolCalls: 3,
      tools: ['sum'],
      startedAt: 10_000,
      seconds: 3.5,
      problem: 'response_truncated',
      problemKind: 'truncated',
    });
    const { body } = await bench.api(`${run}/rollouts/3/trace`);
    expect(schemas.trace.parse(body)).toMatchObject({
      id: 2,
      turnList: [
        { id: 2, step: 0, start: 0, seconds: 0.5, tools: ['sum'], problem: 'response_truncated' },
        { id: 1, step: 1, start: 1.5, tools: ['sum', 'sum'], text: '' },
        { id: 3, step: 2, start: 3, text: '42!' },
      ],
    });
  });

  it('has the parts of its reward where the metrics of the run add up to it', async () => {
    const rated = (attempt: number, parts: Readonly<Record<string, number>>): Experience =>
      saying('2*21', 'x', {
        eid: { batch: 1, run: attempt },
        reward: Object.values(parts).reduce((sum, part) => sum + part, 0),
        metrics: parts,
      });
    const bench = await openWorkbench([
      rated(0, { right: 1, brief: 0.5 }),
      rated(1, { right: 0, brief: 0.5 }),
    ]);
    const { rows } = await list(bench, '');
    expect(rows.map(({ parts }) => parts)).toEqual([
      { right: 1, brief: 0.5 },
      { right: 0, brief: 0.5 },
    ]);
  });

  it('is asked for by its first call, even if that is not in the store any more', async () => {
    const said = (role: string, text: string): string => `<|im_start|>${role}\n${text}<|im_end|>\n`;
    const promptText = said('user', '2*21') + said('assistant', '8') + said('user', '7');
    const bench = await openWorkbench([saying('x', '42', { eid: { step: 1 }, promptText })]);
    expect(await list(bench, '')).toMatchObject({ rows: [{ question: '2*21' }] });
  });

  it('is found by what its calls come to together', async () => {
    const bench = await openWorkbench([...calls(), saying('9*9', 'x', { eid: { batch: 8 } })]);
    expect(await ids(bench, 'minTurns=3')).toEqual([2]);
    expect(await ids(bench, 'minToolCalls=3&maxStep=3')).toEqual([2]);
    expect(await ids(bench, 'minStep=4')).toEqual([4]);
    expect(await ids(bench, 'minSeconds=3')).toEqual([2]);
    expect(await ids(bench, 'tool=sum')).toEqual([2]);
    expect(await ids(bench, 'tool=su')).toEqual([]);
    expect(await ids(bench, 'text=say')).toEqual([2]);
    expect(await ids(bench, 'problem=truncated')).toEqual([2]);
    expect(await ids(bench, 'sort=turns&descending=true')).toEqual([2, 4]);
    expect(await list(bench, '')).toMatchObject({ tools: ['sum'], total: 2, recorded: 4 });
  });
});

it('keeps apart the tasks and runs of a served run, whatever a client names them', async () => {
  const names = [
    ...[0, 1_700_000_000_000, 1_700_000_000_001].map((run) => ({ task: 'a', run })),
    ...[0, 70_000, 70_001].map((run) => ({ task: 'a/1', run })),
    // Its calls have the longest common prefix with those of run 1 of task a.
    { task: 'a', run: 1 },
  ];
  const bench = await openWorkbench(
    names.map(({ task, run: attempt }) =>
      saying('ask', `${attempt}`, { eid: { batch: 3, task, run: attempt, suffix: '0' } }),
    ),
  );
  const found = async (query: string) =>
    (await list(bench, query)).rows.map(({ batch, task, run: attempt, id, rows }) => {
      expect(rows).toEqual([id]);
      return { batch, task, run: attempt };
    });
  const all = names.map((name) => ({ batch: '3', ...name }));
  expect(await found('')).toEqual(all);
  expect(await found('batch=3')).toEqual(all);
  expect(await found('task=a%2F1')).toEqual(all.filter(({ task }) => task === 'a/1'));
  expect(await found('run=1700000000001')).toEqual([all[2]]);
  const group = async (id: number) => {
    const { body } = await bench.api(`${run}/rollouts/${id}/group`);
    return schemas.group.parse(body).attempts.map(({ task, run: attempt }) => [task, attempt]);
  };
  expect(await group(1)).toEqual([
    ['a', 0],
    ['a', 1],
    ['a', 1_700_000_000_000],
    ['a', 1_700_000_000_001],
  ]);
  expect(await group(4)).toEqual([
    ['a/1', 0],
    ['a/1', 70_000],
    ['a/1', 70_001],
  ]);
  const { body } = await bench.api(`${run}/rollouts/7/conversation`);
  expect(schemas.conversation.parse(body).calls).toHaveLength(1);
});

describe('a list', () => {
  const rows = Array.from({ length: 30 }, (_, i) =>
    saying(`${i}?`, i % 2 === 0 ? `even ${i}` : `\u00fcneven ${i}`, {
      eid: { batch: 1 + Math.floor(i / 10), task: i % 10 },
      reward: i === 7 ? undefined : i / 10,
      promptText: i % 3 === 0 ? `Prompt ${i}` : undefined,
    }),
  );

  it('is cut by numbers and texts, whether a record has its text or only tokens', async () => {
    const bench = await openWorkbench(rows);
    expect(await ids(bench, 'minReward=0.5&maxReward=0.7')).toEqual([6, 7]);
    expect(await ids(bench, 'minStaleness=0')).toEqual([]);
    expect(await ids(bench, 'text=EVEN+4')).toEqual([5]);
    expect(await ids(bench, 'text=PROMPT+9')).toEqual([10]);
    expect(
      await ids(bench, `text=${encodeURIComponent('\u00dcNEVEN 1')}&sort=reward&descending=true`),
    ).toEqual([20, 18, 16, 14, 12, 2]);
    // The end of a prompt that has no text of its own.
    expect(await ids(bench, 'text=11%3F')).toEqual([12]);
    const sorted = await ids(bench, 'sort=reward&descending=true&size=200');
    expect([sorted[0], sorted.at(-1)]).toEqual([30, 8]);
  });

  it('keeps its pages together while a run adds rows and deletes others', async () => {
    const bench = await openWorkbench(rows);
    const first = await list(bench, 'descending=true&size=10');
    expect(first).toMatchObject({ matching: 30, total: 30, upTo: 30 });
    await bench.store.put([saying('late', 'one', { eid: { batch: 9 } })]);
    const next = await list(bench, 'descending=true&size=10&page=1&upTo=30');
    expect(next.rows.map(({ id }) => id)).toEqual([20, 19, 18, 17, 16, 15, 14, 13, 12, 11]);
    expect(next).toMatchObject({ matching: 30, total: 31 });
    expect((await list(bench, 'sort=reward&upTo=30')).matching).toBe(30);
    const lease = await bench.store.take(25);
    await lease!.acknowledge(1);
    await bench.store.prune(1);
    expect(await ids(bench, 'size=10')).toEqual([26, 27, 28, 29, 30, 31]);
  });
});

describe('parts of a text', () => {
  it('are found by the marks of templates', () => {
    const text =
      '<|im_start|>user\nWhat is 2*21?<|im_end|>\n<|im_start|>assistant\n<think>\nEasy.</think>\n<tool_call>{}</tool_call><|im_end|>\n';
    const parts = textBlocks(text);
    expect(parts.map(({ start, end }) => text.slice(start, end)).join('')).toBe(text);
    expect(
      parts.filter(({ kind }) => kind !== 'mark').map(({ kind, role }) => [kind, role]),
    ).toEqual([
      ['text', 'user'],
      ['reasoning', 'assistant'],
      ['text', 'assistant'],
      ['toolCall', 'assistant'],
    ]);
  });

  it.each([
    [
      'Gemma 4',
      '<bos><|turn>user\nWhat?<turn|>\n<|turn>model\n<|channel>thought\nEasy.<channel|><|tool_call>call:f{}<tool_call|><|tool_response>response:f{42}<tool_response|>42<turn|>',
      'toolResult',
    ],
    ['Mistral', '[INST]What?[/INST][THINK]Easy.[/THINK][TOOL_CALLS]f[ARGS]{}</s>42', undefined],
    [
      'Phi',
      '<|user|>What?<|end|><|assistant|><think>Easy.</think><tool_call>{}</tool_call>42<|end|>',
      undefined,
    ],
  ])('are found by the marks of %s', (_, text, result) => {
    const parts = textBlocks(text);
    expect(parts.map(({ start, end }) => text.slice(start, end)).join('')).toBe(text);
    const kinds = parts.map(({ kind }) => kind).filter((kind) => kind !== 'mark');
    expect(kinds.slice(kinds.indexOf('reasoning'))).toEqual([
      'reasoning',
      'toolCall',
      ...(result === undefined ? [] : [result]),
      'text',
    ]);
    expect(askedText(text, 'first')).toBe('What?');
  });

  it.each([
    ['alone', ''],
    ['by its role', '<|im_start|>tool\n42<|im_end|>\n<|im_start|>assistant\n'],
    [
      'by its tag',
      '<|im_start|>user\n<tool_response>42</tool_response><|im_end|>\n<|im_start|>assistant\n',
    ],
  ])('give the question of the user, and not the result of a tool: %s', (_, result) => {
    const text =
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 2*21?<|im_end|>\n<|im_start|>assistant\n<tool_call>{}</tool_call><|im_end|>\n';
    expect(askedText(text + result, 'last')).toBe('What is 2*21?');
  });

  it('give the question where a template names no roles, and all of a text without marks', () => {
    expect(askedText('2*21\n<tool_call>{}</tool_call><|im_end|>42\n', 'last')).toBe('2*21');
    expect(askedText('no marks at all', 'last')).toBe('no marks at all');
  });
});

it('has texts and tool calls of a run that writes its tokenizer while the studio is open', async () => {
  const call = '<tool_call>{"name": "sum"}</tool_call>';
  const silent = { promptText: undefined, responseText: undefined };
  const bench = await openWorkbench(
    [
      saying('2*21', call, { reward: 1, ...silent }),
      saying('9*9', '81', { eid: { run: 1 }, ...silent }),
    ],
    false,
  );
  const lease = await bench.store.take(1);
  await lease!.acknowledge(5, [new Float32Array(tokenizer.encode(call).length).fill(0.5)]);
  const seen = async () => {
    const { tools, rows } = await list(bench, 'minAdvantage=0.5');
    const { body } = await bench.api(`${run}/rollouts/1/conversation`);
    const { calls } = schemas.conversation.parse(body);
    return {
      tools,
      rows: rows.map(({ question, toolCalls }) => [question, toolCalls]),
      texts: calls.flatMap(({ segments }) => segments.map(({ texts }) => texts?.join(''))),
      withTools: await ids(bench, 'minToolCalls=1'),
      withText: await ids(bench, 'text=81'),
    };
  };
  expect(await seen()).toEqual({
    tools: [],
    rows: [['', 0]],
    texts: [undefined, undefined],
    withTools: [],
    withText: [],
  });
  await writeTokenizer(bench);
  await list(bench, 'minAdvantage=0.5');
  expect(await seen()).toEqual({
    tools: ['sum'],
    rows: [['2*21', 1]],
    texts: ['2*21', call],
    withTools: [1],
    withText: [2],
  });
});

describe('rows that are deleted or replaced while the studio is open', () => {
  const evaluations = `runs/${encodeURIComponent(`${runId}/evaluations`)}`;
  const answer = (row: number, reward: number, more: Partial<ExperienceInit> = {}) =>
    saying(`q${row}`, 'answer', { eid: { batch: 0, task: row }, reward, ...more });

  it('leave the tasks, the numbers and the totals of an evaluation that is repeated', async () => {
    const bench = await openWorkbench([]);
    const folder = path.join(bench.root, runId, 'evaluations');
    mkdirSync(folder);
    const file = path.join(folder, 'experiences.db');
    const evaluate = (rewards: readonly number[], policyVersion = 0): void =>
      recordAnswers({
        path: file,
        set: 't',
        policyVersion,
        answers: rewards.map((reward, row) => answer(row, reward, { info: { taskset: 't', row } })),
      });
    const seen = async () => {
      const { body } = await bench.api(`${evaluations}/tasks`);
      const { rows, progress } = schemas.taskPage.parse(body);
      const page = await bench.api(`${evaluations}/rollouts?minResponseTokens=7`);
      const { matching, total } = schemas.rolloutPage.parse(page.body);
      return {
        rewards: rows.map(({ times, first, latest }) => [times, first, latest]),
        progress,
        longer: matching,
        total,
      };
    };
    evaluate([0, 0.25]);
    await bench.api('runs');
    const once = { progress: undefined, longer: 0, total: 2 };
    expect(await polled(seen)).toEqual({
      ...once,
      rewards: [
        [1, 0, 0],
        [1, 0.25, 0.25],
      ],
    });
    evaluate([0.5, 1]);
    expect(await polled(seen)).toEqual({
      ...once,
      rewards: [
        [1, 0.5, 0.5],
        [1, 1, 1],
      ],
    });
    evaluate([0.5]);
    expect(await polled(seen)).toEqual({ ...once, total: 1, rewards: [[1, 0.5, 0.5]] });
  });
});
