/** Uploads to a server with the hub's protocol: names, large files by digest, one commit. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { findModel } from '@trinity-rft/local';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pushFolder } from '../src/index.js';

const token = 'hf_secretsecretsecret';

/** Content of the hub: the files of its commits. */
interface Hub {
  readonly address: string;
  readonly files: Map<string, Buffer>;
  isThere: boolean;
  visibility: unknown;
  /** Beginning of the requests that get no response. */
  silent?: string;
  onSilence?: () => void;
}

let server: Server;
let hub: Hub;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trinity-push-'));
  const large = new Map<string, Buffer>();
  server = createServer((request, response) => {
    if (hub.silent !== undefined && `${request.method} ${request.url}`.startsWith(hub.silent)) {
      hub.onSilence?.();
      return;
    }
    void answer(request, large).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  hub = { address, files: new Map(), isThere: false, visibility: undefined };
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

interface Operation {
  readonly key: string;
  readonly value: { readonly path: string; readonly content?: string; readonly oid?: string };
}

/** Request fields that this server reads. */
interface RequestBody {
  readonly private?: boolean;
  readonly visibility?: string;
  readonly files: readonly { readonly path: string }[];
  readonly objects: readonly { readonly oid: string }[];
}

async function answer(
  request: IncomingMessage,
  large: Map<string, Buffer>,
): Promise<[number, unknown]> {
  const body = await buffer(request);
  const json = (): RequestBody => JSON.parse(body.toString()) as RequestBody;
  const where = `${request.method} ${request.url}`;
  if (where.startsWith('PUT /large/')) {
    large.set(createHash('sha256').update(body).digest('hex'), body);
    return [200, {}];
  }
  if (request.headers.authorization !== `Bearer ${token}`) return [401, { error: 'no token' }];
  if (where.startsWith('GET /api/models/someone/model'))
    return hub.isThere ? [200, { id: 'someone/model' }] : [404, { error: 'not found' }];
  if (where === 'POST /api/repos/create') {
    const { private: isPrivate, visibility } = json();
    Object.assign(hub, { isThere: true, visibility: visibility ?? isPrivate });
    return [200, { url: `${hub.address}/someone/model`, id: '1' }];
  }
  if (where === 'POST /api/models/someone/model/preupload/main')
    return [
      200,
      {
        files: json().files.map(({ path: name }) => ({
          path: name,
          uploadMode: name.endsWith('.safetensors') ? 'lfs' : 'regular',
          shouldIgnore: false,
        })),
      },
    ];
  if (where === 'POST /someone/model.git/info/lfs/objects/batch')
    return [
      200,
      {
        transfer: 'basic',
        objects: json().objects.map((object) => ({
          ...object,
          actions: { upload: { href: `${hub.address}/large/${object.oid}` } },
        })),
      },
    ];
  if (where === 'POST /api/models/someone/model/commit/main') {
    const lines = body.toString().split('\n');
    for (const { key, value } of lines.map((line) => JSON.parse(line) as Operation))
      if (key === 'file') hub.files.set(value.path, Buffer.from(value.content ?? '', 'base64'));
      else if (key === 'lfsFile') hub.files.set(value.path, large.get(value.oid ?? '')!);
    return [200, { commitOid: 'a'.repeat(40), commitUrl: 'x', hookOutput: '' }];
  }
  return [500, { error: `unexpected ${where}` }];
}

it('creates a private repository, and uploads every file, and the chat settings of the record', async () => {
  const files: Record<string, Buffer> = {
    'README.md': Buffer.from('---\nlicense: mit\n---\n# A model – trained\n'),
    'config.json': Buffer.from('{}'),
    'model-00001-of-00002.safetensors': randomBytes(300_000),
    'model-00002-of-00002.safetensors': randomBytes(20),
    'sub/with space.txt': Buffer.from('ä'),
  };
  await mkdir(path.join(folder, 'sub'));
  for (const [name, content] of Object.entries(files))
    await writeFile(path.join(folder, name), content);
  const chat = { tool_call_parser: 'hermes', enable_thinking: false };
  const report = { version: 1, name: 'a', file: '.', source: { base: '/home/alice/base' }, chat };
  await writeFile(path.join(folder, 'export.json'), JSON.stringify(report));
  const env = { HF_TOKEN: token, HF_ENDPOINT: hub.address };
  expect(await pushFolder(folder, 'someone/model', env)).toBe(`${hub.address}/someone/model`);
  expect(hub.visibility).toBe('private');
  const { 'export.json': record, ...others } = Object.fromEntries(hub.files);
  expect(others).toEqual(files);
  expect(record?.toString()).not.toContain('alice');
  await writeFile(path.join(folder, 'export.json'), record ?? '');
  expect((await findModel(folder)).chat).toEqual(chat);

  await writeFile(path.join(folder, 'config.json'), '{"a":1}');
  await pushFolder(folder, 'someone/model', env);
  expect(hub.files.get('config.json')?.toString()).toBe('{"a":1}');
});

it('takes no token that a header cannot hold, and prints none', async () => {
  await writeFile(path.join(folder, 'config.json'), '{}');
  for (const [given, message] of [
    ['hf_secret\nsecret', 'HF_TOKEN contains white space'],
    ['hf_secret-ü', 'HF_TOKEN contains white space'],
    ['secret', 'HF_TOKEN does not begin with hf_'],
  ] as const) {
    const env = { HF_TOKEN: given, HF_ENDPOINT: hub.address };
    const error: unknown = await pushFolder(folder, 'someone/model', env).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: 'ConfigError', code: 'HF_TOKEN' });
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('secret');
  }
});

it('takes a token and an endpoint as they are pasted', async () => {
  await writeFile(path.join(folder, 'config.json'), '{}');
  const env = { HF_TOKEN: ` ${token}\n`, HF_ENDPOINT: `${hub.address}/\r` };
  expect(await pushFolder(folder, 'someone/model', env)).toBe(`${hub.address}/someone/model`);
  expect([...hub.files.keys()]).toEqual(['config.json']);
});

it('says what it uploads, and stops while the hub does not answer', async () => {
  await writeFile(path.join(folder, 'model.safetensors'), randomBytes(20));
  const env = { HF_TOKEN: token, HF_ENDPOINT: hub.address };
  const lines: string[] = [];
  await pushFolder(folder, 'someone/model', env, { onProgress: (line) => lines.push(line) });
  expect(lines).toEqual([
    `Uploads the folder (0.0 MB) to ${hub.address}/someone/model.`,
    '  100 % read',
    '  100 % uploaded',
  ]);
  for (const place of ['GET /api/models', 'PUT /large', 'POST /api/models/someone/model/commit']) {
    hub.silent = place;
    const stop = new AbortController();
    const reason = new Error('The process received SIGINT.');
    hub.onSilence = () => stop.abort(reason);
    await writeFile(path.join(folder, 'model.safetensors'), randomBytes(20));
    const pushed = pushFolder(folder, 'someone/model', env, { signal: stop.signal });
    await expect(pushed).rejects.toBe(reason);
  }
});

it('stops while it reads the files', async () => {
  await writeFile(path.join(folder, 'model.safetensors'), Buffer.alloc(50_000_000));
  const env = { HF_TOKEN: token, HF_ENDPOINT: hub.address };
  const stop = new AbortController();
  const reason = new Error('The process received SIGINT.');
  const lines: string[] = [];
  const onProgress = (line: string): void => {
    if (lines.push(line) === 2) stop.abort(reason);
  };
  const pushed = pushFolder(folder, 'someone/model', env, { signal: stop.signal, onProgress });
  await expect(pushed).rejects.toBe(reason);
  expect(lines[1]).toBe('  10 % read');
  expect(lines).not.toContain('  100 % read');
});

it('names the repository and the reason when the hub refuses, and no token', async () => {
  await writeFile(path.join(folder, 'config.json'), '{}');
  const env = { HF_TOKEN: 'hf_anothersecret', HF_ENDPOINT: hub.address };
  const failed = await pushFolder(folder, 'someone/model', env).catch(String);
  expect(failed).toMatch(/The hub did not take someone\/model: .*no token.*upload it later/);
  expect(failed).not.toContain('hf_another');
  await expect(pushFolder(folder, 'model', env)).rejects.toThrow('Expected OWNER/NAME');
});
