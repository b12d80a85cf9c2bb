import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Clock, silentLogger, systemClock } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { scriptedModel } from '@trinity-rft/workflow';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { tunePrompt, type Proposer, type PromptInput } from '../src/index.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-prompt-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const folder = (): string => path.join(root, `search-${folders++}`);

interface Row {
  readonly question: string;
}
const dataset = (name: string, count: number) => {
  const file = path.join(root, `${name}.jsonl`);
  const rows = Array.from({ length: count }, (_, i) => `{"question":"${name} ${i}"}\n`);
  writeFileSync(file, rows.join(''));
  return { path: file };
};
const saved = (directory: string): unknown =>
  JSON.parse(readFileSync(path.join(directory, 'prompt-search.json'), 'utf8'));
const trainDataset = dataset('train', 12);
const evalDataset = dataset('test', 8);

/** Rules that the judge checks; the initial prompt does not contain them. */
const rules = ['greet', 'cite', 'metric', 'short', 'sign', 'json'];

/** Agent that follows the rules that its prompt contains. */
const follow = ({ systemPrompt }: PromptInput<Row>) => ({
  response: rules.filter((rule) => systemPrompt.includes(rule)),
});
/** Judge that names the first rule that is not followed. */
const judge = ({ response }: { readonly response: readonly string[] }) => {
  const missing = rules.find((rule) => !response.includes(rule));
  return {
    reward: response.length / rules.length,
    feedback: missing && `rule missing: ${missing}`,
  };
};

/** Proposer that adds the rule in the feedback to the text that it is shown. */
function listener(): Proposer & { readonly asked: string[] } {
  const asked: string[] = [];
  const model = scriptedModel({
    answers: () => {
      const question = model.calls.at(-1)?.messages[1]?.content as string;
      asked.push(question);
      const text = /The text "\w+":\n(.*)/.exec(question)?.[1];
      const rules = [...question.matchAll(/rule missing: (\w+)/g)].map(([, rule]) => rule);
      return `<prompt>${[text, ...new Set(rules)].join(' ')}</prompt>`;
    },
  });
  return Object.assign(model, { asked });
}

const call = (config: object = {}) => ({
  workflowFunc: follow,
  judgeFunc: judge,
  initSystemPrompt: 'Answer.',
  trainDataset,
  config: { proposer: listener() as Proposer, ...config },
});

describe('tunePrompt', () => {
  it('finds six hidden rules from feedback in 60 runs, and measures them on rows of their own', async () => {
    const tuned = await tunePrompt({ ...call({ maxCalls: 60 }), evalDataset });
    expect(rules.filter((rule) => tuned.prompt.includes(rule))).toEqual(rules);
    expect(tuned.metrics).toMatchObject({
      trainset_reward: 0,
      trainset_reward_best: 1,
      prompts_kept: 6,
      failed_rows: 0,
      valset_reward: 0,
      valset_reward_best: 1,
      valset_difference_low: 1,
    });
    expect(tuned.metrics['calls']).toBeLessThanOrEqual(60);
    expect(tuned.metrics).not.toHaveProperty('valset_improvement');
  });

  it('gives the same for the same seed, and keeps within its budget', async () => {
    const noisy = ({ systemPrompt, task }: PromptInput<Row>) => ({
      response: rules.filter(
        (rule, i) => systemPrompt.includes(rule) && (i + task.question.length) % 4,
      ),
    });
    const run = (seed: number) =>
      tunePrompt({ ...call({ maxCalls: 40, seed }), workflowFunc: noisy });
    const [first, again] = [await run(1), await run(1)];
    expect(again).toEqual(first);
    expect(first.metrics['calls']).toBeLessThanOrEqual(40);
  });

  it('shows the proposer texts, responses, rewards and feedback, never a selection row', async () => {
    const proposer = listener();
    const played: string[] = [];
    await tunePrompt({
      ...call({ proposer, maxCalls: 30 }),
      workflowFunc: (input: PromptInput<Row>) => {
        if (input.systemPrompt === 'Answer.') played.push(input.task.question);
        return follow(input);
      },
    });
    expect(proposer.asked[0]).toMatch(
      /^The text "system":\nAnswer\.\n\nTask: \{"question":"train \d+"\}\nResponse: \[\]\nReward: 0\.000\nFeedback: rule missing: greet/,
    );
    const selection = played.slice(0, 4);
    for (const question of selection) expect(proposer.asked.join()).not.toContain(`"${question}"`);
  });

  it('rewrites several texts in turn', async () => {
    const proposer = listener();
    const tuned = await tunePrompt({
      ...call({ proposer, maxCalls: 100 }),
      components: { tool: 'Searches.' },
      workflowFunc: ({ components }: PromptInput<Row>) => ({
        response: rules.filter((rule, i) => components[i % 2 ? 'tool' : 'system']!.includes(rule)),
      }),
    });
    expect(tuned.metrics['trainset_reward_best']).toBe(1);
    expect(tuned.components['tool']).toMatch(/^Searches\./);
    expect(tuned.components['tool']).toContain('cite');
    expect(tuned.prompt).toBe(tuned.components['system']);
  });

  it('continues after a kill, with the same result, and stores it', async () => {
    const whole = await tunePrompt(call({ directory: folder() }));
    const directory = folder();
    let runs = 0;
    const dying = (input: PromptInput<Row>) => {
      if (++runs === 20) abort.abort();
      return follow(input);
    };
    const abort = new AbortController();
    const killed = tunePrompt({
      ...call({ directory }),
      workflowFunc: dying,
      signal: abort.signal,
    });
    await expect(killed).rejects.toThrow('aborted');
    runs = Infinity;
    let resumed = 0;
    const counting = (input: PromptInput<Row>) => {
      resumed++;
      return follow(input);
    };
    expect(await tunePrompt({ ...call({ directory }), workflowFunc: counting })).toEqual(whole);
    expect(resumed).toBeLessThan(whole.metrics['calls']!);
    expect(JSON.parse(readFileSync(path.join(directory, 'prompt.json'), 'utf8'))).toEqual(whole);
    await expect(tunePrompt(call({ directory, seed: 1 }))).rejects.toThrow(
      'is of a search with other texts, rows or settings',
    );
    writeFileSync(path.join(directory, 'prompt-search.json'), '{');
    await expect(tunePrompt(call({ directory }))).rejects.toThrow('is damaged');
  });

  it('repeats no run and no proposal after an interruption at any of them', async () => {
    const proposer = listener();
    const whole = await tunePrompt(call({ maxCalls: 30, proposer }));
    const directory = folder();
    const counts = { runs: 0, proposals: 0 };
    let left = 0;
    let abort = new AbortController();
    const paid = <T>(kind: keyof typeof counts, result: T): T => {
      counts[kind]++;
      if (--left === 0) abort.abort();
      return result;
    };
    const model = listener();
    const paidProposer: Proposer = {
      chat: async (...args) => paid('proposals', await model.chat(...args)),
    };
    const tune = () => {
      // Each call is interrupted after three runs or proposals.
      [left, abort] = [3, new AbortController()];
      return tunePrompt({
        ...call({ maxCalls: 30, evalNumThreads: 1, proposer: paidProposer, directory }),
        workflowFunc: (input: PromptInput<Row>) => paid('runs', follow(input)),
        signal: abort.signal,
      }).catch(() => undefined);
    };
    let tuned = await tune();
    while (tuned === undefined) tuned = await tune();
    expect(tuned).toEqual(whole);
    expect(counts).toEqual({ runs: whole.metrics['calls'], proposals: proposer.asked.length });
  });

  it('gives a hanging function an hour, and says within 5 s what it waits for', async () => {
    const clock = manualClock();
    const lines: string[] = [];
    const called = Promise.withResolvers<void>();
    const tuned = tunePrompt({
      ...{ ...call(), clock, trainDataset: dataset('one', 1) },
      logger: { ...silentLogger, info: (line) => void lines.push(line) },
      workflowFunc: (input: PromptInput<Row>) => follow(input),
      judgeFunc: function grade() {
        called.resolve();
        return new Promise<never>(() => undefined);
      },
    });
    await called.promise;
    await clock.advance(5000);
    expect(lines).toEqual(['Waiting for 1 of 1 rows (5 s until now).']);
    while (await clock.advanceToNext());
    expect((await tuned).metrics).toMatchObject({ failed_rows: 1 });
  });

  it('has saved all runs when it asks the proposer', async () => {
    const directory = folder();
    let state: unknown;
    const proposer: Proposer = {
      chat: async () => {
        state ??= saved(directory);
        throw new Error('no service');
      },
    };
    await expect(tunePrompt(call({ proposer, directory }))).rejects.toThrow('no service');
    expect(state).toMatchObject({ calls: 7, current: { parent: 0 } });
  });

  it('saves the state at an abort, and then abandons runs that do not end', async () => {
    const directory = folder();
    const abort = new AbortController();
    const graces: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (_, end) => {
        if (abort.signal.aborted) graces.push(end);
        return () => undefined;
      },
    };
    let runs = 0;
    const hanging = (input: PromptInput<Row>) => {
      if (++runs < 3) return follow(input);
      abort.abort();
      return new Promise<never>(() => undefined);
    };
    const tuned = tunePrompt({
      ...call({ directory, evalNumThreads: 1 }),
      ...{ workflowFunc: hanging, signal: abort.signal, clock },
    });
    void tuned.catch(() => undefined);
    await expect.poll(() => saved(directory)).toMatchObject({ calls: 2 });
    for (const end of graces) end();
    await expect(tuned).rejects.toThrow('aborted');
  });

  /** Proposer that writes "bad" at the first calls, and then listens. */
  const badAtFirst = (count: number): Proposer => {
    const good = listener();
    let asked = 0;
    const bad = scriptedModel({ answers: () => '<prompt>bad</prompt>' });
    return { chat: (...args) => (++asked <= count ? bad : good).chat(...args) };
  };

  it('tries another prompt if all rows fail, but only with the proposed one', async () => {
    let runs = 0;
    const workflowFunc = (input: PromptInput<Row>) => {
      runs++;
      if (input.systemPrompt === 'bad') throw new Error('no such text');
      return follow(input);
    };
    const proposer = badAtFirst(2);
    const tuned = await tunePrompt({ ...call({ maxCalls: 80, proposer }), workflowFunc });
    expect(tuned.metrics).toMatchObject({ trainset_reward_best: 1, prompts_kept: 6, calls: runs });
  });

  it('keeps within its budget if that ends when all selection rows fail', async () => {
    let runs = 0;
    const selection = new Set<string>();
    const workflowFunc = ({ systemPrompt, task: { question } }: PromptInput<Row>) => {
      if (++runs <= 4) selection.add(question);
      if (systemPrompt === 'Answer.') return { response: [] };
      if (selection.has(question)) throw new Error('no such row');
      return { response: rules };
    };
    // The selection rows twice, and two batches of three rows.
    const tuned = await tunePrompt({ ...call({ maxCalls: 14 }), workflowFunc });
    expect([tuned.prompt, tuned.metrics['calls'], runs]).toEqual(['Answer.', 14, 14]);
  });

  it('asks for another text at the next call if the old one fails as well', async () => {
    const directory = folder();
    let isDown = false;
    const workflowFunc = (input: PromptInput<Row>) => {
      isDown ||= input.systemPrompt === 'bad';
      if (isDown) throw new Error('no service');
      return follow(input);
    };
    const tune = (config: object) =>
      tunePrompt({ ...call({ directory, maxCalls: 60, ...config }), workflowFunc });
    await expect(tune({ proposer: badAtFirst(1) })).rejects.toThrow('All 3 rows failed');
    isDown = false;
    expect((await tune({})).metrics).toMatchObject({ trainset_reward_best: 1 });
  });

  it('compares texts on the same rows, and keeps none that fails on most of them', async () => {
    const selection: string[] = [];
    const workflowFunc = ({ systemPrompt, task: { question } }: PromptInput<Row>) => {
      if (selection.length < 4) selection.push(question);
      // Other texts do better, but succeed on only one selection row.
      if (systemPrompt === 'Answer.') return { response: rules.slice(1) };
      if (selection.indexOf(question) > 0) throw new Error('crash');
      return { response: rules };
    };
    const config = { maxCalls: 40, evalNumThreads: 1 };
    const tuned = await tunePrompt({ ...call(config), workflowFunc });
    expect(tuned).toMatchObject({ prompt: 'Answer.', metrics: { prompts_kept: 0 } });
    expect(tuned.metrics['prompts_tried']).toBeGreaterThan(1);
  });

  it('takes the text with the largest gain over the original one', async () => {
    const directory = folder();
    const config = { maxCalls: 14, evalNumThreads: 1, directory };
    const abort = new AbortController();
    let runs = 0;
    const workflowFunc = (input: PromptInput<Row>) => {
      if (++runs === 4) abort.abort();
      return follow(input);
    };
    const { signal } = abort;
    await expect(tunePrompt({ ...call(config), workflowFunc, signal })).rejects.toThrow('aborted');
    const state = saved(directory) as {
      calls: number;
      candidates: { played: Record<string, object> }[];
    };
    state.calls = config.maxCalls;
    const rows = Object.keys(state.candidates[0]!.played);
    const candidate = (system: string, rewards: readonly (number | undefined)[]) => ({
      components: { system },
      played: Object.fromEntries(
        rows.map((row, i) => [row, { task: {}, response: '', reward: rewards[i] }]),
      ),
    });
    state.candidates = [
      candidate('Answer.', [1, 1, 0, 0]),
      candidate('half', [undefined, undefined, 0.1, 0.1]),
      candidate('worse', [0, 0, 0.2, 0.2]),
    ];
    writeFileSync(path.join(directory, 'prompt-search.json'), JSON.stringify(state));
    expect((await tunePrompt(call(config))).prompt).toBe('half');
  });

  it('gives means over the rows on which neither of two texts failed', async () => {
    let hard: string | undefined;
    const workflowFunc = ({ systemPrompt, task: { question } }: PromptInput<Row>) => {
      hard ??= question;
      if (systemPrompt !== 'Answer.' && question === hard) throw new Error('crash');
      const isHalf = systemPrompt === 'Answer.' && question !== hard;
      return { response: isHalf ? rules.slice(3) : rules };
    };
    const config = { maxCalls: 30, evalNumThreads: 1 };
    const tuned = await tunePrompt({ ...call(config), workflowFunc });
    expect(tuned.metrics).toMatchObject({ trainset_reward: 0.5, trainset_reward_best: 1 });
  });

  it('keeps within a smaller budget in the middle of an attempt, which a larger one ends', async () => {
    const whole = await tunePrompt(call({ maxCalls: 30 }));
    const directory = folder();
    let runs = 0;
    const abort = new AbortController();
    const tune = (maxCalls: number, more: object = {}) =>
      tunePrompt({
        ...call({ maxCalls, evalNumThreads: 1, directory }),
        workflowFunc: (input: PromptInput<Row>) => {
          if (++runs === 9) abort.abort();
          return follow(input);
        },
        ...more,
      });
    await expect(tune(30, { signal: abort.signal })).rejects.toThrow('aborted');
    expect((await tune(10)).metrics).toMatchObject({ calls: 9, prompts_tried: 0 });
    expect(runs).toBe(9);
    expect(await tune(30)).toEqual(whole);
  });

  it('counts failed rows for no prompt, and ends when all fail', async () => {
    let runs = 0;
    const flaky = (input: PromptInput<Row>) => {
      if (runs++ % 4 === 1) throw new Error('no service');
      return follow(input);
    };
    const config = { maxCalls: 80, evalNumThreads: 1 };
    const tuned = await tunePrompt({ ...call(config), workflowFunc: flaky });
    expect(tuned.metrics).toMatchObject({ trainset_reward: 0, trainset_reward_best: 1 });
    expect(tuned.metrics['failed_rows']).toBeGreaterThan(5);
    const broken = () => {
      throw new Error('no service');
    };
    const directory = folder();
    await expect(tunePrompt({ ...call({ directory }), workflowFunc: broken })).rejects.toThrow(
      'All 4 rows failed, the first one with: no service',
    );
    expect(existsSync(directory)).toBe(false);
  });

  it('prefers every candidate with a reward to one whose only selection row failed', async () => {
    let runs = 0;
    const failsFirst = (input: PromptInput<Row>) => {
      if (runs++ === 0) throw new Error('no service');
      return follow(input);
    };
    const directory = folder();
    const start = { ...call({ directory, maxCalls: 8 }), trainDataset: dataset('few', 3) };
    const tuned = await tunePrompt({ ...start, workflowFunc: failsFirst });
    expect(tuned.prompt).toContain('greet');
    expect(tuned.metrics).toMatchObject({ trainset_reward: NaN, failed_rows: 1 });
    // The next call runs the failed row again.
    expect((await tunePrompt(start)).metrics).toMatchObject({ trainset_reward: 0, failed_rows: 0 });
  });

  it('asks a proposer behind a service with all of its settings', async () => {
    const bodies: unknown[] = [];
    vi.stubGlobal('fetch', (_: unknown, init: RequestInit) => {
      bodies.push(JSON.parse(init.body as string));
      const message = { role: 'assistant', content: 'greet' };
      const choices = [{ index: 0, finish_reason: 'stop', message }];
      return Promise.resolve(Response.json({ choices }));
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    const service = { baseUrl: 'http://127.0.0.1:9/v1', modelPath: 'big', maxModelLen: 64 };
    const sampling = { temperature: 0.5, topP: 0.9, maxTokens: 32, enableThinking: false };
    await tunePrompt(call({ proposer: { ...service, ...sampling }, maxCalls: 20 }));
    expect(bodies[0]).toMatchObject({
      model: 'big',
      temperature: 0.5,
      top_p: 0.9,
      chat_template_kwargs: { enable_thinking: false },
    });
  });

  interface Wrong {
    readonly config?: object;
    readonly trainDataset?: { readonly path: string };
    readonly evalDataset?: { readonly path: string };
    readonly components?: Readonly<Record<string, string>>;
  }
  it.each<readonly [Wrong, string]>([
    [{ config: { maxCalls: 13 } }, 'maxCalls is 13; expected at least 14'],
    [{ config: { maxCalls: 3 }, trainDataset: dataset('pair', 2) }, 'expected at least 4'],
    [{ config: { batchSize: 150 }, trainDataset: dataset('many', 400) }, 'expected at least 380'],
    [{ evalDataset: { path: path.join(root, 'typo.jsonl') } }, 'typo.jsonl'],
    [{ components: { system: 'Hi.' } }, 'components.system differs from initSystemPrompt'],
  ])('runs nothing with %j', async (given, message) => {
    const workflowFunc = vi.fn<typeof follow>(follow);
    const { config } = call(given.config);
    const tuned = tunePrompt({ ...call(), ...given, config, workflowFunc });
    await expect(tuned).rejects.toThrow(message);
    expect(workflowFunc).not.toHaveBeenCalled();
  });

  it('improves two rows with two runs each, and takes the components of its result', async () => {
    const start = { ...call({ maxCalls: 4 }), trainDataset: dataset('two', 2) };
    const { components, metrics } = await tunePrompt(start);
    expect(components).toEqual({ system: 'Answer. greet' });
    expect(metrics).toMatchObject({ calls: 4, prompts_kept: 1 });
    const next = { ...start, initSystemPrompt: 'Answer. greet', components };
    expect((await tunePrompt(next)).prompt).toBe('Answer. greet cite');
  });

  it('keeps its result if the comparison fails or is aborted', async () => {
    const tune = (evaluate: () => never, config: object, more: object) =>
      tunePrompt({
        ...call({ maxCalls: 60, ...config }),
        ...{ evalDataset, ...more },
        workflowFunc: (input: PromptInput<Row>) =>
          input.task.question.startsWith('test') ? evaluate() : follow(input),
      });
    let runs = 0;
    const down = (): never => {
      runs++;
      throw new Error('no service');
    };
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (line: string) => void warnings.push(line) };
    const tuned = await tune(down, {}, { logger });
    expect(tuned.metrics).toMatchObject({ trainset_reward_best: 1 });
    expect(tuned.metrics).not.toHaveProperty('valset_reward');
    expect(warnings.at(-1)).toMatch(/evalDataset.*not compared: .*no service/);
    expect(runs).toBe(8);
    const [directory, abort] = [folder(), new AbortController()];
    const aborting = (): never => {
      abort.abort();
      return down();
    };
    const aborted = tune(aborting, { directory }, { signal: abort.signal });
    await expect(aborted).rejects.toThrow('aborted');
    expect(JSON.parse(readFileSync(path.join(directory, 'prompt.json'), 'utf8'))).toEqual(tuned);
  });

  it('says that the proposer wrote nothing, and rejects unknown settings', async () => {
    const proposer = scriptedModel({ answers: ['<prompt> </prompt>'] });
    await expect(tunePrompt(call({ proposer }))).rejects.toMatchObject({ code: 'PROPOSAL_EMPTY' });
    await expect(tunePrompt(call({ optimizationLevel: 'extreme' }))).rejects.toThrow(
      'PromptTuneConfig is invalid: optimizationLevel',
    );
    await expect(tunePrompt(call({ maxCall: 5 }))).rejects.toThrow(/Unrecognized key.*"maxCall"/);
    const folderOfModel = { modelPath: 'm', maxModelLen: 9 };
    await expect(tunePrompt(call({ proposer: folderOfModel }))).rejects.toMatchObject({
      code: 'PROPOSER_NOT_REMOTE',
    });
  });
});
