/** Tests `trinity serve --model` in a separate process: trained models by name. */
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../src/program.js';
import { startTrinity, trinity } from './support/trinity.js';
import { createWorkspace, type Workspace } from './support/workspace.js';

const root = new URL('../../../', import.meta.url).pathname;
const practice = path.join(root, 'apps/create/templates/practice/model');
const key = 'a-key-of-16-characters';
let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  cpSync(practice, path.join(workspace.root, 'practice'), { recursive: true });
});

describe('trinity serve --model', () => {
  it('serves, logs without texts, and answers what is in progress before it ends', async () => {
    const log = path.join(workspace.root, 'requests.jsonl');
    const models = ['--model', 'one=practice', '--model', 'two=practice'];
    const server = startTrinity(
      workspace.root,
      ['serve', ...models, '--port', '0', '--log-requests', log],
      { env: { TRINITY_SERVE_KEY: key } },
    );
    await expect
      .poll(server.output, { timeout: 60_000 })
      .toMatch(/OpenAI base URL: (http:\S+)\/v1/);
    const url = /(http:\S+)\/v1/.exec(server.output())?.[1] ?? '';
    expect(await (await fetch(`${url}/ready`)).json()).toEqual({
      status: 'ready',
      models: ['one', 'two'],
    });
    const ask = (model: string, stream = false): Promise<Response> =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model,
          stream,
          max_tokens: 60,
          temperature: 0,
          messages: [{ role: 'user', content: '12*34' }],
        }),
      });
    expect((await ask('two')).status).toBe(200);
    const stream = await ask('one', true);
    server.child.kill('SIGTERM');
    expect(await stream.text()).toMatch(/data: \[DONE\]\s*$/);
    const { exitCode, stdout, stderr } = await server.ended;
    expect(exitCode).toBe(0);
    const lines = readFileSync(log, 'utf8').trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { model: string }).model)).toEqual([
      'two',
      'one',
    ]);
    expect(lines.join('')).not.toContain('12*34');
    expect(stdout + stderr + lines.join('')).not.toContain(key);
  });

  it.each([
    [['--model', 'practice'], '--model is "practice". Expected NAME=PATH'],
    [['--model', 'a=practice', '--model', 'a=practice'], '--model names "a" twice.'],
    [['--model', 'a=none'], 'There is no none.'],
    [['--model', 'a=practice', '--log-texts'], '--log-texts needs --log-requests FILE.'],
    [['--model', 'a=practice', '--no-train'], 'so --no-train has no effect. Leave it out.'],
    [
      ['--model', 'a=practice', '--plugin-dir', 'x'],
      'so --plugin-dir has no effect. Leave it out.',
    ],
    [
      ['--model', 'a=practice', '--log-requests', 'practice/config.json/x'],
      '--log-requests is "practice/config.json/x", which cannot be written: E',
    ],
    [['serve.yaml', '--model', 'a=practice'], 'the configuration serve.yaml has no effect'],
    [['serve.yaml', '--log-requests', 'x'], 'need --model'],
  ])('refuses %o', async (args, message) => {
    const { exitCode, stderr } = await trinity(workspace.root, 'serve', ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('the files of the guide', () => {
  const file = (name: string): string =>
    readFileSync(path.join(root, 'docs/guides/deploy', name), 'utf8');
  const program = createProgram(
    { out: () => undefined, err: () => undefined },
    () => async () => undefined,
  );
  const options = program.commands
    .find((command) => command.name() === 'serve')
    ?.options.map(({ long }) => long);

  it.each([
    ['Dockerfile', /^ENTRYPOINT (\[.*\])$/m],
    ['trinity-serve.service', /^ExecStart=(.*)$/m],
  ])('%s starts the command of this checkout with options that it has', (name, pattern) => {
    const line = pattern.exec(file(name))?.[1] ?? '';
    const words = line.startsWith('[') ? (JSON.parse(line) as string[]) : line.split(' ');
    const [, script = '', command] = words;
    const { bin } = JSON.parse(
      readFileSync(path.join(root, 'apps/runner/package.json'), 'utf8'),
    ) as {
      readonly bin: Readonly<Record<string, string>>;
    };
    expect(script).toBe(path.join('node_modules/@trinity-rft/runner', bin['trinity'] ?? ''));
    expect(command).toBe('serve');
    for (const word of words.filter((each) => each.startsWith('--')))
      expect(options).toContain(word);
  });
});
