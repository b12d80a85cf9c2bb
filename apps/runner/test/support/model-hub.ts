/** Small model hub: serves a model folder over the routes of the Hugging Face hub. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

export interface ModelHub {
  readonly url: string;
  /** Path and range of every request so far. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Answers a request itself and returns true, or leaves it to the hub. */
export type AnswerInstead = (
  request: IncomingMessage,
  response: ServerResponse,
  content: Buffer | undefined,
) => boolean;

export const commit = 'c'.repeat(40);

export async function startModelHub(
  id: string,
  folder: string,
  answerInstead: AnswerInstead = () => false,
): Promise<ModelHub> {
  const files = new Map<string, Buffer>([['README.md', Buffer.from('not needed')]]);
  for (const name of readdirSync(folder)) files.set(name, readFileSync(path.join(folder, name)));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://hub');
    requests.push([pathname, request.headers.range].filter(Boolean).join(' '));
    const content = files.get(pathname.replace(`/${id}/resolve/${commit}/`, ''));
    if (answerInstead(request, response, content)) return;
    if (content) return sendFile(content, request, response);
    const body = descriptionAt(pathname, id, files);
    response
      .writeHead(body ? 200 : 404, { 'content-type': 'application/json' })
      .end(JSON.stringify(body ?? { error: 'Repository not found' }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

function descriptionAt(pathname: string, id: string, files: ReadonlyMap<string, Buffer>): unknown {
  if (pathname.startsWith(`/api/models/${id}/revision/`))
    return { _id: '1', id, sha: commit, lastModified: '2026-01-01T00:00:00.000Z' };
  if (pathname !== `/api/models/${id}/tree/${commit}`) return undefined;
  return [...files].map(([name, content]) => ({
    type: 'file',
    path: name,
    size: content.length,
    ...digests(name, content),
  }));
}

/** Digest fields of a file: weights are LFS files; other files have a git blob id. */
function digests(name: string, content: Buffer): object {
  if (!/\.(?:safetensors|gguf)$/.test(name))
    return {
      oid: createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex'),
    };
  const oid = createHash('sha256').update(content).digest('hex');
  return { oid: 'pointer', lfs: { oid, size: content.length, pointerSize: 130 } };
}

function sendFile(content: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const start = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
  if (start === undefined) return void response.end(content);
  const range = `bytes ${start}-${content.length - 1}/${content.length}`;
  response.writeHead(206, { 'content-range': range }).end(content.subarray(Number(start)));
}
