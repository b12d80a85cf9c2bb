// A small hub. It serves the files of one dataset over the routes of the Hugging Face hub that
// downloads use.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HubServer {
  readonly url: string;
  /** `GET /path` of every request so far. */
  readonly requests: readonly string[];
  /** Values of the authorization header, in order of first appearance. */
  readonly authorizations: ReadonlySet<string>;
  close(): Promise<void>;
}

export const hubRevision = 'c'.repeat(40);

/**
 * Starts a hub with one dataset.
 * @param answerInstead answers a request and returns true, or returns false so that the hub answers
 */
export async function startHub(
  id: string,
  files: Readonly<Record<string, string | Uint8Array>>,
  answerInstead: (
    path: string,
    response: ServerResponse,
    request: IncomingMessage,
  ) => boolean = () => false,
): Promise<HubServer> {
  const requests: string[] = [];
  const authorizations = new Set<string>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url!.split('?')[0]!);
    requests.push(path);
    if (request.headers.authorization) authorizations.add(request.headers.authorization);
    if (!answerInstead(path, response, request)) answer(id, files, path, request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    authorizations,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

function answer(
  id: string,
  files: Readonly<Record<string, string | Uint8Array>>,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const json = (value: unknown): void =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  if (path.startsWith(`/api/datasets/${id}/revision/`))
    return json({ _id: '1', id, sha: hubRevision, lastModified: '2026-01-01T00:00:00.000Z' });
  if (path === `/api/datasets/${id}/tree/${hubRevision}`) {
    return json(
      Object.entries(files).map(([name, content]) => ({
        type: 'file',
        path: name,
        size: Buffer.byteLength(content),
        oid: gitId(content),
      })),
    );
  }
  const content = files[path.replace(`/datasets/${id}/resolve/${hubRevision}/`, '')];
  if (content === undefined)
    return void response
      .writeHead(404, { 'content-type': 'application/json' })
      .end('{"error":"Repository not found"}');
  sendFile(Buffer.from(content), request, response);
}

/** Returns the id that git gives to the file. */
const gitId = (content: string | Uint8Array): string =>
  createHash('sha1')
    .update(`blob ${Buffer.byteLength(content)}\0`)
    .update(content)
    .digest('hex');

function sendFile(bytes: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  response.setHeader('etag', '"e"');
  if (!range) return void response.end(bytes);
  const part = bytes.subarray(Number(range[1]), Number(range[2]) + 1);
  response
    .writeHead(206, { 'content-range': `bytes ${range[1]}-${range[2]}/${bytes.length}` })
    .end(part);
}
