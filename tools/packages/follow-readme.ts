/** Follows a new project's README, from training to answers of the trained model. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBlocks } from '../readme/blocks.ts';
import type { Terminal } from './project.ts';

const key = 'a-key-of-16-characters';

/** Runs all steps and returns the score of the trained agent. */
export async function followReadme(project: string, terminal: Terminal): Promise<string> {
  await terminal.run('npm run check');
  await terminal.run('npm run try');
  const printed = await terminal.run('npm run train');
  const [before = 0, after = 0] = [...printed.matchAll(/^eval .*: held_out ([\d.]+)$/gm)].map(
    ([, accuracy]) => Number(accuracy),
  );
  if (!(after > 0.8 && before < 0.3))
    throw new Error(`the accuracy went from ${before} to ${after}:\n${printed}`);
  await terminal.during('npm run view', async (output) => {
    const [, url = ''] = await output(/Open (http\S+)/);
    const page = await fetch(url);
    if (!page.ok) throw new Error(`the page of the viewer answers ${page.status}`);
  });
  const right = await terminal.during(
    'npm run serve',
    async (output) => {
      const [, url = ''] = await output(/(http:\/\/\S+\/v1)/);
      return countRight(terminal, { OPENAI_BASE_URL: url, OPENAI_API_KEY: key });
    },
    { TRINITY_SERVE_KEY: key },
  );
  const exported = await exportAndUse(terminal);
  await trainOwnAgent(project, terminal);
  return `held-out accuracy ${before} before, ${after} after; served, ${right} of 3 answers are right; ${exported}; an own agent trains`;
}

/** Exports a file for llama.cpp, and uses the model in Node without a server and in the terminal. */
async function exportAndUse(terminal: Terminal): Promise<string> {
  const question = '"37*48"';
  const call = 'calculator';
  const chatted = await terminal.run(
    `sh -c "echo 37*48 | npm run --silent chat -- --temperature 0"`,
  );
  await terminal.run('npm install --ignore-scripts --no-audit --no-fund node-llama-cpp@3.21.1');
  const printed = await terminal.run('npm run export -- --check');
  const [, reward] = /held_out: reward ([\d.]+)/.exec(printed) ?? [];
  const answered = await terminal.run(`node exported/chat.mjs ${question}`);
  for (const [what, text] of Object.entries({ 'npm run chat': chatted, 'chat.mjs': answered }))
    if (!text.includes(call)) throw new Error(`${what} makes no tool call:\n${text}`);
  if (!(Number(reward) > 0.8))
    throw new Error(`the exported model got a reward of ${reward}:\n${printed}`);
  return `exported to GGUF, it gets ${reward} in llama.cpp`;
}

/** Replaces the template's agent by the agent of the documentation about own agents. */
async function trainOwnAgent(project: string, terminal: Terminal): Promise<void> {
  const root = join(import.meta.dirname, '../..');
  const page = readBlocks(root, 'docs/guides/your-agent.md');
  const agent = page.find(({ language }) => language === 'ts')?.text ?? '';
  for (const file of ['workflow.ts', 'reward.ts']) rmSync(join(project, 'plugins', file));
  writeFileSync(join(project, 'plugins', 'support.ts'), agent);
  const own = readFileSync(join(project, 'train.yaml'), 'utf8')
    .replace('name: train', 'name: own')
    .replace('default_workflow_type: calculator', 'default_workflow_type: support')
    .replace(/total_steps: \d+/, 'total_steps: 2');
  writeFileSync(join(project, 'own.yaml'), own);
  const printed = await terminal.run('npx trinity run own.yaml');
  if (!/^Done after train step 2: /m.test(printed)) throw new Error(printed);
}

/** Counts right answers. They are sampled at the server's temperature, so some may be wrong. */
async function countRight(
  terminal: Terminal,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  let right = 0;
  for (const [a, b] of [
    [37, 48],
    [91, 23],
    [56, 74],
  ] as const) {
    const printed = await terminal.run(`npm run --silent ask -- "${a}*${b}"`, env);
    if (printed.trim() === String(a * b)) right++;
  }
  if (right === 0) throw new Error('the served model answers no question right');
  return right;
}
