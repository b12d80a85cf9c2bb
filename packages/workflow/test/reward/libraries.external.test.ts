/**
 * Scorers of evaluation libraries from npm, as reward functions. No network access after the
 * installation.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createRequire } from 'node:module';
import type { RewardInput } from '@trinity-rft/core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fromScorer, type Scorer } from '../../src/reward/index.js';

const packages = [
  'evalite@0.19.0',
  'openevals@0.2.2',
  '@langfuse/client@5.11.1',
  'autoevals@0.3.0',
  'vitest@3',
];
const folder = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'trinity-rft/scorers-3',
);
let missing = '';

beforeAll(async () => {
  const complete = path.join(folder, 'complete');
  if (existsSync(complete)) return;
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const command = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages];
  await promisify(execFile)('npm', command, { cwd: folder }).then(
    () => writeFile(complete, ''),
    (error: unknown) => {
      missing = `npm does not install the libraries: ${String(error)}`;
    },
  );
}, 600_000);
beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
});

// oxlint-disable-next-line typescript/no-explicit-any -- their own types are not installed here
async function library(name: string): Promise<any> {
  const { resolve } = createRequire(path.join(folder, 'package.json'));
  return import(/* @vite-ignore */ pathToFileURL(resolve(name)).href);
}

const answer = (response: string): RewardInput => ({
  response,
  truth: '42',
  prompt: '6 x 7?',
  rawTask: { unit: 'none' },
});
const scored = (scorer: Scorer, response: string) => fromScorer(scorer)(answer(response));

describe('libraries', { tags: ['external'] }, () => {
  it.each([
    ['42', 1],
    ['41', 0],
    ['', 0],
  ])('evalite scores %j with %d', async (response, score) => {
    const { createScorer } = await library('evalite');
    const exact = createScorer({
      name: 'Exact',
      scorer: ({ output, expected }: Record<string, string>) => ({
        score: output === expected ? 1 : 0,
        metadata: { reason: `expected ${expected}` },
      }),
    });
    expect(await scored(exact, response)).toEqual({
      parts: { Exact: score },
      reasons: { Exact: 'expected 42' },
    });
  });

  it.each([
    ['42', 1],
    ['41', 0],
    ['{', 0],
  ])('openevals scores %j with %d', async (response, score) => {
    const { exactMatch } = await library('openevals');
    expect(await scored(exactMatch, response)).toEqual({
      parts: { exact_match: score },
      reasons: {},
    });
  });

  it.each([
    ['42', 1],
    ['41', 0.5],
  ])('Langfuse scores %j with %d by a scorer of autoevals', async (response, score) => {
    const { createEvaluatorFromAutoevals } = await library('@langfuse/client');
    const { Levenshtein } = await library('autoevals');
    expect(await scored(createEvaluatorFromAutoevals(Levenshtein), response)).toMatchObject({
      parts: { Levenshtein: score },
    });
  });
});
