// Runs the examples of a clone of Trinity-RFT, two steps each, and counts those that train:
//   ORIGINAL_EXAMPLES=Trinity-RFT/examples pnpm exec vitest run apps/runner/test/original/count.external.test.ts --tags-filter=external
// Only models, data, addresses and sizes are replaced.
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { checkFiles, readConfiguration } from '@trinity-rft/launcher';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runHere } from '../support/run-here.js';
import { metricLines } from '../support/run-record.js';
import type { Tree, Workspace } from '../support/workspace.js';
import { replacements, sizes } from './replacements.js';
import { createOriginalWorkspace, stubPython } from './small.js';

const folder = process.env['ORIGINAL_EXAMPLES'] ?? '';
const files =
  folder === ''
    ? []
    : readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => name.endsWith('.yaml'))
        .toSorted();

/**
 * Examples that are refused, with the start of the message: they need images, a Data-Juicer
 * service, or people.
 */
const refused: Readonly<Record<string, RegExp>> = {
  'grpo_vlm/vlm.yaml': /Only text can be trained/,
  'mix_vlm/mix_vlm.yaml': /Only text can be trained/,
  'grpo_gsm8k_experience_pipeline/gsm8k.yaml': /There is no Data-Juicer service/,
  'grpo_gsm8k_experience_pipeline/dj_scoring_exp.yaml': /unknown key "process"/,
  'dpo_human_in_the_loop/dpo.yaml': /People choose between answers in files/,
};

let workspace: Workspace;
let api: Server;
beforeAll(async () => {
  workspace = await createOriginalWorkspace();
  api = createServer((_request, response) => {
    const message = {
      role: 'assistant',
      content: 'Graded: {"rating": 7}, {"score": 3}, [0.2, 0.8]',
    };
    const body = {
      id: '1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await new Promise<void>((done) => void api.listen(0, '127.0.0.1', done));
});
afterAll(() => void api.close());

/** Environment variables with the addresses of the servers. */
function environment(): Readonly<Record<string, string>> {
  const { port } = api.address() as AddressInfo;
  const rows = path.join(workspace.root, 'rows.jsonl');
  return {
    TRINITY_MODEL_PATH: 'long',
    TRINITY_AUX_MODEL_PATH: 'long',
    TRINITY_TASKSET_PATH: rows,
    TRINITY_SFT_DATASET_PATH: path.join(workspace.root, 'answers.jsonl'),
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    OPENAI_API_KEY: 'key',
    TINKER_API_KEY: 'key',
  };
}

/** Error message for the configuration; empty if it is accepted. */
async function problemOf(configPath: string, overrides: Tree): Promise<string> {
  const env = environment();
  // Judges and models behind an API read their addresses from the process's environment.
  for (const [key, value] of Object.entries(env)) vi.stubEnv(key, value);
  try {
    const { loaded, ...extensions } = await readConfiguration({
      configPath,
      overrides,
      env,
      cwd: workspace.root,
      terminal: undefined,
    } as never);
    await checkFiles(loaded, extensions, {
      measure: true,
      signal: new AbortController().signal,
    });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Configuration of the other process of an example whose trainer and explorer are separate. */
function partnerOf(name: string, text: string): readonly [file: string, mode?: string] | undefined {
  if (name.endsWith('/explorer.yaml')) return [name.replace('explorer.yaml', 'trainer.yaml')];
  if (name.endsWith('/trainer.yaml')) return [name.replace('trainer.yaml', 'explorer.yaml')];
  return /^mode: explore/m.test(text) ? [name, 'train'] : undefined;
}

/**
 * Runs an example at a small size. Returns the error message and the output; empty if the run succeeds.
 * @param of example whose replacements are used
 */
async function runSmall(name: string, of = name, mode?: string): Promise<string> {
  const configPath = path.resolve(folder, name);
  const text = readFileSync(configPath, 'utf8');
  const overrides = {
    ...sizes(text, replacements(of, text)),
    ...(mode === undefined ? {} : { mode }),
  };
  const { error, output } = await runHere(workspace, configPath, { overrides, env: environment() });
  return error === undefined ? '' : `${error.message}\n${output}`;
}

describe.skipIf(files.length === 0)('an example of Trinity-RFT', () => {
  it.each(files)('%s', { tags: ['external'], timeout: 120_000 }, async (name) => {
    const configPath = path.resolve(folder, name);
    if (needsServer.has(name)) stubPython(workspace);
    const problem = await problemOf(
      configPath,
      replacements(name, readFileSync(configPath, 'utf8')),
    );
    const refusal = refused[name];
    expect(problem).toMatch(refusal ?? /^$/);
    if (refusal !== undefined || needsServer.has(name)) return;
    const partner = partnerOf(name, readFileSync(configPath, 'utf8'));
    const failures = await Promise.all([
      runSmall(name),
      ...(partner === undefined ? [] : [runSmall(partner[0], name, partner[1])]),
    ]);
    expect(failures.join('')).toBe('');
    const steps = metricsBelow(path.join(workspace.root, 'runs', name)).filter(
      ({ role }) => role === 'trainer',
    );
    expect(steps.length).toBeGreaterThanOrEqual(name.startsWith('bench') ? 0 : 2);
  });
});

/**
 * Examples that need a Tinker server or ScienceWorld. Other tests run them:
 * `packages/launcher/test/tinker-run.test.ts` and `original.external.test.ts`.
 */
const needsServer: ReadonlySet<string> = new Set([
  'tinker/tinker.yaml',
  'grpo_sciworld/sciworld.yaml',
]);

/** Metrics of every run below a folder. */
const metricsBelow = (root: string) =>
  readdirSync(root, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith(`monitor${path.sep}metrics.jsonl`))
    .flatMap((file) => metricLines(path.join(root, file, '..', '..')));
