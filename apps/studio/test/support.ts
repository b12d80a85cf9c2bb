/** Workbench of the tests: a folder with a run, the built page, and a browser. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
import { openStudio, type Studio } from '@trinity-rft/inspect/studio';
import { afterFile } from '@trinity-rft/test-support';
import { buildPageInto } from './build-page.js';

const files = buildCharTokenizer({
  characters:
    ' \n_abcdefghijklmnopqrstuvwxyz0123456789+*?{}=<>/()"\'&;:.!ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  eosToken: '<|im_end|>',
  chatTemplate: chatTemplates.minimal,
});
export const tokenizer = createTokenizer(files);

function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-studio-'));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds the page from its sources, and returns its folder. */
export async function buildPage(): Promise<string> {
  const outDir = temporaryFolder();
  await buildPageInto(outDir);
  return outDir;
}

export interface Workbench {
  /** The served folder. */
  readonly root: string;
  readonly store: ExperienceStore;
  readonly studio: Studio;
  readonly metricsFile: string;
}

/** Creates a run named `run` with these experiences and lines of metrics, and opens a studio over it. */
export async function openWorkbench(
  page: string,
  run: string,
  rows: readonly Experience[],
  metrics: string,
): Promise<Workbench> {
  const root = temporaryFolder();
  const folder = path.join(root, run);
  for (const name of ['buffer', 'monitor']) mkdirSync(path.join(folder, name), { recursive: true });
  await writeTokenizerFiles(path.join(folder, 'global_step_1'), files);
  const metricsFile = path.join(folder, 'monitor', 'metrics.jsonl');
  writeFileSync(metricsFile, metrics);
  const store = sqliteExperienceStore({ path: path.join(folder, 'buffer', 'store.db') });
  afterFile(() => store.close());
  await store.put(rows);
  const studio = await openStudio({ runs: root, page });
  afterFile(() => studio.close());
  return { root, store, studio, metricsFile };
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
