import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { basePrompt } from '../src/agent.ts';
import { compare } from '../src/compare.ts';
import { prepare } from '../src/prepare.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'trinity-prompt-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it(
  'finds the careful prompt, and shows what it is worth without and with training',
  { tags: ['slow'], timeout: 240_000 },
  async () => {
    const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
    const modelPath = await prepare({ directory, seed: 42, terminal });
    const { variants, differences } = await compare({
      modelPath,
      cwd: directory,
      totalSteps: 10,
      terminal,
    });
    expect(variants.map(({ components }) => components['system'])).toEqual([
      basePrompt,
      `${basePrompt} Check every digit.`,
      basePrompt,
      `${basePrompt} Check every digit.`,
    ]);
    for (const { cost, failedRows } of variants) {
      expect(failedRows).toBe(0);
      expect(cost).toMatchObject({ calls: 100, dollars: expect.any(Number) as unknown });
    }
    expect(differences[0]).toMatchObject({ from: 'base', to: 'prompt only' });
    expect(differences[0]?.difference.interval?.low).toBeGreaterThan(0);
    expect(variants[1]?.tuning?.calls).toBeLessThan((variants[2]?.tuning?.calls ?? 0) / 5);
  },
);
