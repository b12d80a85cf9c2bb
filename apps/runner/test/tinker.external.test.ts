/** Tests `trinity serve --tinker` with the official Python client of Tinker. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { findPython, runPython } from '@trinity-rft/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTrinity, type Trinity } from './support/trinity.js';
import { createWorkspace } from './support/workspace.js';

const script = path.join(import.meta.dirname, 'external', 'tinker_client.py');
const practiceModel = path.join(
  import.meta.dirname,
  '../../../apps/create/templates/practice/model',
);
const guide = path.join(import.meta.dirname, '../../../docs/guides/tinker.md');
const tagged = { tags: ['external'], timeout: 1_200_000 };

let server: Trinity;
beforeEach(async () => {
  const workspace = await createWorkspace();
  const model = { model_path: practiceModel, max_prompt_tokens: 40, max_response_tokens: 4 };
  const config = workspace.config('serve.yaml', { name: 'tinker', mode: 'serve', model });
  server = startTrinity(workspace.root, ['serve', config, '--tinker', '--port', '0']);
  await new Promise<void>((resolve, reject) => {
    server.child.stdout?.on('data', () => {
      if (server.output().includes('Saved weights')) resolve();
    });
    void server.ended.then(() => reject(new Error(server.output())));
  });
  for (const name of ['TINKER_BASE_URL', 'TINKER_API_KEY'])
    process.env[name] = new RegExp(`^${name}=(.*)$`, 'm').exec(server.output())?.[1] ?? '';
});
afterEach(async () => {
  server.child.kill('SIGINT');
  await server.ended;
});

interface Answer {
  readonly is_lora: boolean;
  readonly losses: readonly [number, number];
  readonly importance: readonly number[];
  readonly saved: string;
  readonly logprobs: readonly number[];
  readonly loaded: readonly (readonly number[])[];
  /** Log-probability of every token; null for the first. */
  readonly computed: readonly (number | null)[];
  /** Most likely tokens with their log-probabilities, at every position. */
  readonly top: readonly (readonly (readonly [token: number, logprob: number])[] | null)[];
  /** Set by SDK 0.25 only. */
  readonly archive?: readonly string[];
  /** Set by SDK 0.38 only. */
  readonly gspo?: readonly number[];
  readonly custom?: number;
  readonly rewards: readonly [number, number];
}

function assertScores({ logprobs, computed, top }: Answer): void {
  expect([computed[0], top[0]]).toEqual([null, null]);
  for (const [i, logprob] of logprobs.entries()) {
    expect(computed[i + 1]).toBeCloseTo(logprob, 4);
    const text = [4, 5, 6, 7, 8];
    expect(top[i + 1]?.find(([token]) => token === text[i])?.[1]).toBeCloseTo(logprob, 4);
  }
}

const newest = ['tinker==0.38.0', 'torch'];

describe('the official client', () => {
  it.for([
    ['0.25', ['tinker==0.25.0']],
    ['0.38', newest],
  ] as const)(
    '%s trains, saves, loads, samples and learns by reward',
    tagged,
    async ([, packages], { skip }) => {
      const python = await findPython(packages);
      if ('missing' in python) return skip(python.missing);
      const own = packages === newest ? ['custom'] : [];
      const squares = (values: readonly number[]): number =>
        values.reduce((sum, p) => sum + p * p, 0);
      const answer = await runPython<Answer>(python.program, [script, ...own]);
      expect(answer.is_lora).toBe(true);
      expect(answer.losses[1]).toBeLessThan(0.9 * answer.losses[0]);
      for (const [i, advantage] of [0, 1, -1, 0.5, 0].entries())
        expect(answer.importance[i]).toBeCloseTo(-advantage, 4);
      expect(answer.saved).toMatch(/^tinker:\/\/.*\/weights\/state$/);
      expect(answer.loaded).toEqual([answer.logprobs, answer.logprobs]);
      assertScores(answer);
      const adapter = ['adapter_config.json', 'adapter_model.safetensors', 'checkpoint_complete'];
      expect(answer.archive).toEqual(packages === newest ? undefined : adapter);
      const ratio = Math.exp(0.5);
      for (const [i, loss] of [-1.2, ratio, -1.2, -1.2, -1.2].entries())
        expect(answer.gspo?.[i] ?? loss).toBeCloseTo(loss, 4);
      expect(Object.hasOwn(answer, 'gspo')).toBe(packages === newest);
      const { custom = squares(answer.logprobs) } = answer;
      expect(custom).toBeCloseTo(squares(answer.logprobs), 3);
      expect(Object.hasOwn(answer, 'custom')).toBe(packages === newest);
      expect(answer.rewards[0]).toBeLessThan(0.7);
      expect(answer.rewards[1]).toBeGreaterThan(0.9);
    },
  );

  it('does what the guide says', tagged, async ({ skip }) => {
    const python = await findPython(newest);
    if ('missing' in python) return skip(python.missing);
    const [, code = ''] = /```python\n([\s\S]*?)```/.exec(readFileSync(guide, 'utf8')) ?? [];
    const asJson = code.replaceAll(/^print\((.*)\)$/gm, 'results.append([$1])');
    const whole = `import json\nresults = []\n${asJson}\nprint(json.dumps(results))`;
    const [losses, [tokens]] = await runPython<[[number, number], [number[]]]>(python.program, [
      '-c',
      whole,
    ]);
    expect(losses.map((loss) => loss.toFixed(1))).toEqual(['61.9', '0.7']);
    expect(tokens).toEqual([5, 6, 7, 8]);
  });
});
