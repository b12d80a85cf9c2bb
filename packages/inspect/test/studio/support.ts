/** Folders of runs with known rows, for the tests. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import {
  buildCharTokenizer,
  chatTemplates,
  createTokenizer,
  writeTokenizerFiles,
} from '@trinity-rft/chat';
import { createExperience, type Experience, type ExperienceInit } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { afterFile } from '@trinity-rft/test-support';
import { openStudio, type Studio } from '../../src/studio/index.js';

const files = buildCharTokenizer({
  characters:
    ' \n_abcdefghijklmnopqrstuvwxyz0123456789+*?{}\u00fc\u00dc=<>/()"\'&;:.!ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  eosToken: '<|im_end|>',
  chatTemplate: chatTemplates.minimal,
});
/** Id of the run, which is in a subfolder of the served folder. */
export const runId = 'project/first';

export const tokenizer = createTokenizer(files);

export interface Workbench {
  readonly store: ExperienceStore;
  readonly root: string;
  readonly studio: Studio;
  /** Requests a route and returns the status and the JSON answer. */
  api(path: string): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** Writes the tokenizer of the run, as its first checkpoint does. */
export const writeTokenizer = ({ root }: Pick<Workbench, 'root'>): Promise<void> =>
  writeTokenizerFiles(path.join(root, runId, 'global_step_1'), files);

/** Opens an experience store in the folder of a run, and a studio over the folder. */
export async function openWorkbench(
  rows: readonly Experience[],
  withTokenizer = true,
): Promise<Workbench> {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-studio-'));
  afterFile(() => rmSync(root, { recursive: true, force: true }));
  const folder = path.join(root, runId);
  mkdirSync(path.join(folder, 'buffer'), { recursive: true });
  if (withTokenizer) await writeTokenizer({ root });
  const store = sqliteExperienceStore({ path: path.join(folder, 'buffer', 'store.db') });
  afterFile(() => store.close());
  await store.put(rows);
  const studio = await openStudio({ runs: root });
  afterFile(() => studio.close());
  const { origin } = new URL(studio.url);
  const api: Workbench['api'] = async (name) => {
    const response = await fetch(`${origin}/api/${name}`, {
      headers: { authorization: `Bearer ${studio.key}` },
    });
    return { status: response.status, body: await response.json() };
  };
  return { root, store, studio, api };
}

/** Experience with the given prompt and response texts. */
export function saying(
  prompt: string,
  response: string,
  more: Partial<ExperienceInit> = {},
): Experience {
  const [before, after] = [tokenizer.encode(prompt), tokenizer.encode(response)];
  return createExperience({
    tokens: [...before, ...after],
    promptLength: before.length,
    logprobs: Array.from(after, (_, i) => -i / 4),
    policyVersion: 0,
    temperature: 1,
    responseText: response,
    ...more,
  });
}

/** Repeats a request until the server has read all rollouts, which it does in the background. */
export async function polled<T extends { readonly progress?: unknown }>(
  ask: () => Promise<T>,
): Promise<T> {
  let answered = await ask();
  while (answered.progress !== undefined) answered = await ask();
  return answered;
}
