import {
  chmodSync,
  existsSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfiguration } from '@trinity-rft/launcher';
import { writeSource } from '@trinity-rft/launcher/files';
import { openStudio, type Studio } from '@trinity-rft/inspect/studio';
import { openApi } from '@trinity-rft/inspect/studio';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { templates } from '../../src/control/builder/templates.js';
import { openControl } from '../../src/control/control.js';
import { askTrinity } from '../../src/control/shared/command.js';
import { actions, routes } from '../../src/control/interface/routes.js';

let folder: string;
let root: string;
let studio: Studio;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-control-'));
  root = path.join(folder, 'root');
  mkdirSync(root);
  // Instead of trinity: says what it was given, and continues until it is asked to end.
  const program = `require('fs').writeFileSync('given.json', JSON.stringify({ argv: process.argv.slice(1), env: process.env, cwd: process.cwd() }));
    console.log('begun'); setInterval(() => {}, 1000); require('fs').watch('.', () => require('fs').existsSync('end') && process.exit(3));`;
  const env = { ...process.env, TRINITY_STUDIO_KEY: 'the key of the studio' };
  const command = [process.execPath, '-e', program, '--'];
  studio = await openStudio({ runs: root, parts: [openControl({ command, cwd: root, env })] });
});
afterEach(async () => {
  await studio.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

async function ask(place: string, body?: unknown, headers = {}) {
  const given = { authorization: `Bearer ${studio.key}`, ...headers };
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(new URL(`api/${place}`, studio.url), { ...request, headers: given });
  return { status: response.status, body: (await response.json().catch(() => ({}))) as Answer };
}
interface Answer {
  readonly error?: string;
  readonly digest?: string;
  readonly pid?: number;
  readonly files?: readonly string[];
}

it('asks trinity, whatever programs that a plugin started write to', async () => {
  const program = `const options = { stdio: ['ignore', 'inherit', 'inherit'], detached: true };
    const { pid } = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], options);
    console.log(JSON.stringify({ pid }));
    process.exit(0);`;
  const trinity = { command: [process.execPath, '-e', program, '--'], env: process.env };
  const options = { args: [], cwd: root, input: '', signal: undefined };
  const what = { what: 'The check', deadlineMs: 60_000 };
  const { pid } = (await askTrinity(trinity, { ...options, ...what })) as { pid: number };
  expect(process.kill(pid, 'SIGKILL')).toBe(true);
});

const text = 'mode: train\nmodel: {}\n';
const save = (file: string, digest?: string) => ask('actions/builder/save', { file, text, digest });

describe('configurations', () => {
  it.each([
    ['../out.yaml', 'not a configuration below'],
    ['/tmp/out.yaml', 'not a configuration below'],
    ['a/../../out.yaml', 'not a configuration below'],
    ['link/out.yaml', 'symbolic link'],
    ['run.sh', '.yaml file'],
    ['.hidden/a.yaml', '.yaml file'],
    ['node_modules/a.yaml', '.yaml file'],
    ['a\0.yaml', '.yaml file'],
    ['C:\\x.yaml', '.yaml file'],
  ])('are not written to %j, nor read or started', async (file, why) => {
    symlinkSync(folder, path.join(root, 'link'));
    for (const { status, body } of [
      await save(file),
      await ask('actions/builder/start', { file }),
      await ask('actions/builder/check', { file, text }),
      await ask(`builder/file?file=${encodeURIComponent(file)}`),
    ])
      expect([status, body.error]).toEqual([400, expect.stringContaining(why)]);
    expect(existsSync(path.join(folder, 'out.yaml'))).toBe(false);
    expect(existsSync(path.join(root, 'given.json'))).toBe(false);
  });

  it('are not overwritten when somebody else has changed them', async () => {
    const { status, body } = await save('new/a.yaml');
    expect(status).toBe(200);
    expect((await save('new/a.yaml')).body.error).toContain('exists already');
    expect((await save('new/a.yaml', body.digest)).status).toBe(200);
    writeFileSync(path.join(root, 'new/a.yaml'), 'mode: both\n');
    expect((await save('new/a.yaml', body.digest)).body.error).toContain('has been changed');
    expect(readFileSync(path.join(root, 'new/a.yaml'), 'utf8')).toBe('mode: both\n');
    writeFileSync(path.join(root, 'compose.yaml'), 'services: {}\n');
    await save('b.yaml');
    expect((await ask('builder/files')).body.files).toEqual(['b.yaml']);
  });

  // The root user can read every file.
  it.skipIf(process.getuid?.() === 0)('are listed beside a file that cannot be read', async () => {
    await save('a.yaml');
    writeFileSync(path.join(root, 'secret.yaml'), text, { mode: 0 });
    const { body } = await ask('builder/files');
    const found = { folder: root, files: ['a.yaml'] };
    expect(body).toEqual({ ...found, unreadable: ['secret.yaml'], moreUnreadable: 0 });
    for (let i = 0; i < 25; i++) writeFileSync(path.join(root, `z${i}.yaml`), text, { mode: 0 });
    const { body: many } = await ask('builder/files');
    expect(many).toMatchObject({ ...found, unreadable: { length: 20 }, moreUnreadable: 6 });
  });

  it.each(['a.yaml/b.yaml', 'a.yaml/b/c.yaml'])(
    'say why they cannot be saved: %s',
    async (name) => {
      await save('a.yaml');
      const { status, body } = await save(name);
      expect(status).toBe(400);
      expect(body.error).toContain(`${path.join(root, name)} cannot be written: `);
      expect(body.error).toContain('One of its folders is a file.');
    },
  );

  it('keep their mode, and links to them, when they are saved', async () => {
    const [file, link] = [path.join(root, 'own.yaml'), path.join(root, 'current.yaml')];
    const { body } = await save('own.yaml');
    chmodSync(file, 0o660);
    symlinkSync('own.yaml', link);
    const changed = { file: 'current.yaml', text: 'mode: both\n', digest: body.digest };
    expect((await ask('actions/builder/save', changed)).status).toBe(200);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('mode: both\n');
    expect(statSync(file).mode & 0o777).toBe(0o660);
    expect(readdirSync(root).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('have commands that a shell understands', async () => {
    mkdirSync(path.join(root, "it's one"));
    writeFileSync(path.join(root, "it's one/package.json"), '{}');
    const { body } = await save("it's one/a b.yaml");
    expect(body).toMatchObject({ command: String.raw`cd 'it'\''s one' && trinity run 'a b.yaml'` });
  });

  it.each([
    ["console.error('The disk is full.'); process.exit(1)", 'The disk is full.'],
    ["console.log('plugin'); console.error('No such model.'); process.exit(1)", 'No such model.'],
    ["console.log('plugin')", 'ended without an answer. plugin'],
  ])('are not checked by %s', async (program, error) => {
    await studio.close();
    const command = [process.execPath, '-e', program, '--'];
    studio = await openStudio({ runs: root, parts: [openControl({ command, cwd: root })] });
    const { status, body } = await ask('actions/builder/check', { file: 'a.yaml', text });
    expect([status, body.error]).toEqual([500, expect.stringContaining(error)]);
  });
});

describe('a run', () => {
  it('is started as trinity run FILE, and outlives the studio', async () => {
    mkdirSync(path.join(root, 'project'));
    writeFileSync(path.join(root, 'project/package.json'), '{}');
    await save('project/a.yaml');
    const { body } = await ask('actions/builder/start', { file: 'project/a.yaml' });
    const file = path.join(root, 'project/given.json');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toBeTruthy();
    const given = JSON.parse(readFileSync(file, 'utf8')) as {
      argv: readonly string[];
      env: Record<string, string>;
    };
    expect(given.argv).toEqual(['run', 'a.yaml']);
    expect(given.env).not.toHaveProperty('TRINITY_STUDIO_KEY');
    await expect
      .poll(async () => (await ask('builder/started')).body)
      .toEqual([expect.objectContaining({ file: 'project/a.yaml', output: 'begun\n' })]);
    await studio.close();
    const isThere = (): boolean => {
      try {
        return process.kill(body.pid ?? 0, 0);
      } catch {
        return false;
      }
    };
    expect(isThere()).toBe(true);
    process.kill(body.pid ?? 0, 'SIGKILL');
    await expect.poll(isThere).toBe(false);
  });

  it('is not stopped where its process is gone, though the number is in use again', async () => {
    const job = path.join(root, 'job');
    mkdirSync(path.join(job, 'monitor'), { recursive: true });
    writeFileSync(path.join(job, 'monitor/metrics.jsonl'), '');
    writeFileSync(path.join(job, 'stage_meta.json'), '{"latest_stage":0}');
    writeFileSync(path.join(job, 'run.pid'), `${process.pid}\n`);
    writeFileSync(path.join(job, 'run.lock'), '');
    const { status, body } = await ask('actions/runs/job/stop', {});
    expect([status, body.error]).toEqual([400, expect.stringContaining('No process')]);
  });
});

describe('to resume a run', () => {
  /** Arguments of each call of the stand-in for `trinity`, whose answer says that every file writes to `job`. */
  const asked = (): readonly string[] =>
    existsSync(path.join(root, 'asked'))
      ? readFileSync(path.join(root, 'asked'), 'utf8').split('\n')
      : [];
  const open = async (
    recorded: string | undefined,
    writesTo = 'job',
    errors: readonly object[] = [],
  ) => {
    await studio.close();
    const jobDirectory = errors.length === 0 ? path.join(root, writesTo) : undefined;
    const answer = { errors, warnings: [], jobDirectory };
    const program = `require('fs').appendFileSync('asked', process.argv.slice(1).join(' ') + '\\n'); console.log(${JSON.stringify(JSON.stringify(answer))})`;
    const command = [process.execPath, '-e', program, '--'];
    studio = await openStudio({ runs: root, parts: [openControl({ command, cwd: root })] });
    mkdirSync(path.join(root, 'job/monitor'), { recursive: true });
    writeFileSync(path.join(root, 'job/monitor/metrics.jsonl'), '');
    writeFileSync(path.join(root, 'job/stage_meta.json'), '{"latest_stage":0}');
    for (const name of ['a.yaml', 'job.yaml', 'other.yaml'])
      writeFileSync(path.join(root, name), `${text}name: job\n`);
    if (recorded !== undefined)
      await writeSource(path.join(root, 'job'), path.resolve(root, recorded));
    return ask('actions/runs/job/resume', {});
  };

  it('opens the configuration that the run recorded, and no other', async () => {
    expect((await open('other.yaml')).status).toBe(200);
    await expect
      .poll(asked)
      .toEqual(['config plan other.yaml --json --stdin', 'run other.yaml', '']);
  });

  it.each([
    [undefined, 'job', 'does not record'],
    ['../out.yaml', 'job', 'is not a configuration below'],
    ['gone.yaml', 'job', 'cannot be read'],
  ])('opens nothing where it recorded %s', async (recorded, writesTo, why) => {
    const { status, body } = await open(recorded, writesTo);
    expect([status, body.error]).toEqual([400, expect.stringContaining(why)]);
    expect(asked()).toEqual([]);
  });

  it('says what is wrong with a configuration that has become invalid', async () => {
    const message = 'Unrecognized key "bach".';
    const place = { file: 'a.yaml', line: 5, column: 3, path: 'buffer.bach' };
    const { status, body } = await open('a.yaml', 'job', [
      { ...place, message, fix: 'Remove it.' },
    ]);
    expect(status).toBe(400);
    expect(body.error).toContain(`a.yaml:5:3 buffer.bach: ${message} Remove it.`);
    expect(asked()).toEqual(['config plan a.yaml --json --stdin', '']);
  });

  it('starts nothing that writes to another folder by now', async () => {
    const { body } = await open('a.yaml', 'elsewhere');
    expect(body.error).toContain('now writes to');
    expect(asked()).toEqual(['config plan a.yaml --json --stdin', '']);
  });
});

it('changes nothing without the key, by GET, or for another origin', async () => {
  const file = 'a.yaml';
  const body = { file, text };
  const place = 'actions/builder/save';
  const answers = [
    await ask(place, body, { authorization: 'Bearer wrong' }),
    await ask(place, body, { origin: 'http://evil.example' }),
    await ask(`${place}?file=${file}`),
    await ask(place, { ...body, text: 1 }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([401, 403, 404, 400]);
  expect(existsSync(path.join(root, file))).toBe(false);
});

describe('templates', () => {
  const parts = path.join(import.meta.dirname, '../../../../apps/create/templates');

  it.each(templates.map(({ name, text: yaml }) => [name, yaml]))(
    '%s is valid',
    async (name, yaml) => {
      for (const part of ['practice', 'practice-tasks'])
        cpSync(path.join(parts, part), root, { recursive: true });
      cpSync(path.join(root, 'tasks.jsonl'), path.join(root, 'rows.jsonl'));
      const read = { configPath: `${name}.yaml`, text: yaml, cwd: root };
      const { loaded } = await readConfiguration(read);
      expect(loaded.warnings).toEqual([]);
    },
  );
});

it('openapi.json is what the routes say', () => {
  const file = readFileSync(path.join(import.meta.dirname, '../../openapi.json'), 'utf8');
  expect(JSON.parse(file)).toEqual(openApi(routes, actions));
});
