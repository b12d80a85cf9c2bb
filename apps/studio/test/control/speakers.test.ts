/** Tests models in separate processes: how many are loaded, and when they are unloaded. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createChatFormat, loadTokenizer, normalizeMessages } from '@trinity-rft/chat';
import { writeManifest } from '@trinity-rft/core/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Scored, Spoken } from '../../src/control/interface/index.js';
import { findCheckpoints, type FoundCheckpoint } from '../../src/control/playground/checkpoints.js';
import type { CallToScore } from '../../src/control/playground/protocol.js';
import { createSpeakers, type Speakers } from '../../src/control/playground/speakers.js';

const practice = path.join(import.meta.dirname, '../../../../apps/create/templates/practice/model');
let folder: string;
let found: readonly FoundCheckpoint[];
let speakers: Speakers | undefined;
/** Number of free bytes that the system reports. */
let free: number;
const gibibyte = 2 ** 30;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-speakers-'));
  for (const step of [1, 2])
    cpSync(practice, path.join(folder, `global_step_${step}`), { recursive: true });
  cpSync(path.join(practice, 'config.json'), path.join(folder, 'global_step_3/config.json'));
  const stages = [{ 'model.model_path': practice }];
  writeFileSync(path.join(folder, 'settings.json'), JSON.stringify({ stages }));
  found = await findCheckpoints(folder);
  free = 8 * gibibyte;
});
afterEach(async () => {
  await speakers?.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = (idleMs?: number): void => {
  speakers = createSpeakers({ env: process.env, idleMs, availableMemory: () => free });
};
const checkpoint = (name: string): FoundCheckpoint => {
  const wanted = found.find((each) => each.name === name);
  if (!wanted) throw new Error(`No ${name}.`);
  return wanted;
};
async function say(name: string, maxTokens = 4, signal = new AbortController().signal) {
  const parts: Spoken[] = [];
  const messages = [{ role: 'user' as const, content: '17*3=' }];
  const request = { messages, temperature: 1, maxTokens, seed: 1 };
  await speakers?.say(checkpoint(name), request, signal, (part) => parts.push(part));
  return parts;
}
async function score(name: string, calls: readonly CallToScore[]) {
  const parts: Scored[] = [];
  const { signal } = new AbortController();
  await speakers?.score(checkpoint(name), calls, signal, (part) => parts.push(part));
  return parts;
}
/** Counts the processes of models that this process has started; Linux only. */
function loadedCount(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
  const isModel = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('speaker');
    } catch {
      return false;
    }
  };
  return children.trim().split(' ').filter(isModel).length;
}

describe('checkpoints', () => {
  it('are the folders that hold a model with its tokenizer, and what the run began with', async () => {
    expect(found.map(({ name }) => name)).toEqual(['global_step_2', 'global_step_1', 'start']);
    const evaluations = path.join(folder, 'evaluations');
    expect(await findCheckpoints(evaluations)).toEqual([]);
    mkdirSync(evaluations);
    cpSync(path.join(folder, 'settings.json'), path.join(evaluations, 'settings.json'));
    expect(await findCheckpoints(evaluations)).toMatchObject([{ name: 'start' }]);
  });

  it('answer as they come, ending with every token and its alternatives', async () => {
    open();
    const parts = await say('start');
    const kinds = [...new Set(parts.map(({ kind }) => kind))];
    expect(kinds).toEqual(['wait', 'prompt', 'text', 'end']);
    const end = parts.at(-1);
    expect(end).toMatchObject({ kind: 'end', tokens: expect.any(Array) });
    const tokens = end?.kind === 'end' ? end.tokens : [];
    expect(tokens.length).toBeGreaterThan(0);
    const written = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');
    expect(tokens.map(({ text }) => text).join('')).toBe(written);
    for (const { top } of tokens) {
      expect(top).toHaveLength(5);
      expect(top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)).toBeLessThan(1.0001);
    }
  });

  it('answer with the chat settings of their run', async () => {
    const chat_template = `{% for m in messages %}{{ m.content }}{% endfor %}{{ '1' if enable_thinking else '2' }}`;
    const own = { chat_template, enable_thinking: false };
    const settings = Object.entries(own).map(([key, value]) => [
      `explorer.rollout_model.${key}`,
      value,
    ]);
    const stages = [Object.fromEntries(settings)];
    writeFileSync(path.join(folder, 'settings.json'), JSON.stringify({ stages }));
    await writeManifest(path.join(folder, 'global_step_1'), { step: 1, final: false });
    open();
    const prompt = (await say('global_step_1')).find(({ kind }) => kind === 'prompt');
    expect(prompt).toMatchObject({ text: '17*3=2', template: chat_template });
  });
});

describe('scores', () => {
  it('are those of the weights that wrote it: ratio 1, and other where the record differs', async () => {
    open();
    const end = (await say('start', 6)).at(-1);
    const written = end?.kind === 'end' ? end.tokens : [];
    const format = createChatFormat({ tokenizer: await loadTokenizer(practice) });
    const messages = normalizeMessages([{ role: 'user', content: '17*3=' }]);
    const prompt = format.encode(format.render({ messages }));
    const logprobs = written.map(({ logprob }) => logprob);
    const call = {
      id: 7,
      tokens: [...prompt, ...written.map(({ id }) => id)],
      promptLength: prompt.length,
      temperature: 1,
      recorded: logprobs.map((value, i) => (i === 0 ? null : value - Math.LN2)),
    };
    const parts = await score('start', [call, { ...call, id: 8, recorded: logprobs }]);
    expect(parts.map(({ kind }) => kind)).toEqual(['wait', 'call', 'call', 'end']);
    const [other, same] = parts.filter((part) => part.kind === 'call');
    const close = (value: number) => expect.closeTo(value, 3);
    expect(same).toMatchObject({
      id: 8,
      logprobs: logprobs.map(close),
      ratios: logprobs.map(() => close(1)),
    });
    expect(other?.ratios).toEqual(logprobs.map((_, i) => (i === 0 ? null : close(2))));
    for (const entropy of same?.entropy ?? []) expect(entropy).toBeGreaterThan(0);
    expect(same?.entropy).toHaveLength(logprobs.length);
  });

  it('of tokens that the model does not know are refused with a reason', async () => {
    open();
    const call = { id: 1, tokens: [1, 1e6], promptLength: 1, temperature: 0, recorded: [-1] };
    expect((await score('start', [call])).at(-1)).toMatchObject({
      kind: 'problem',
      problem: expect.stringMatching(/1000000/),
    });
  });
});

describe.runIf(process.platform === 'linux')('loaded models', () => {
  it('are two at most, and one where memory is short', async () => {
    open();
    await say('global_step_1');
    await say('global_step_2');
    expect(loadedCount()).toBe(2);
    await say('start');
    expect(loadedCount()).toBe(2);
    free = 1;
    const refused = await say('global_step_1');
    expect(refused.at(-1)).toMatchObject({
      kind: 'problem',
      problem: expect.stringMatching(
        /^This model needs about \d+ MiB of memory, and 0 MiB are free\.$/,
      ),
    });
    // What was there has been unloaded for it.
    expect(loadedCount()).toBe(0);
  });

  it('are not those of an earlier run of the same name', async () => {
    open();
    await say('global_step_1');
    const place = path.join(folder, 'global_step_1');
    rmSync(place, { recursive: true });
    cpSync(practice, place, { recursive: true });
    found = await findCheckpoints(folder);
    await say('global_step_1');
    expect(loadedCount()).toBe(2);
  });

  it('take turns where there is room for one', async () => {
    const availableMemory = (): number => (loadedCount() === 0 ? 8 * gibibyte : 0);
    speakers = createSpeakers({ env: process.env, availableMemory });
    const answers = await Promise.all(
      ['global_step_1', 'global_step_2', 'start'].map((name) => say(name, 30)),
    );
    expect(answers.map((parts) => parts.at(-1)?.kind)).toEqual(['end', 'end', 'end']);
    expect(loadedCount()).toBe(1);
  });

  it('are given back when nobody asks', async () => {
    open(50);
    await say('global_step_1');
    await expect.poll(loadedCount).toBe(0);
  });

  it('stop when nobody waits for the answer, and can be asked again', async () => {
    open();
    const leaves = new AbortController();
    leaves.abort();
    const parts = await say('global_step_1', 60, leaves.signal);
    expect(parts.map(({ kind }) => kind)).not.toContain('end');
    expect((await say('global_step_1')).at(-1)?.kind).toBe('end');
  });

  it('say what is wrong with a damaged checkpoint', async () => {
    open();
    writeFileSync(path.join(folder, 'global_step_1/model.safetensors'), 'not weights');
    const parts = await say('global_step_1');
    expect(parts.at(-1)).toMatchObject({
      kind: 'problem',
      problem: expect.stringContaining('model.safetensors'),
    });
    await expect.poll(loadedCount).toBe(0);
  });
});
