/** Bodies of requests: JSON within limits. */
import { hash } from 'node:crypto';
import { invalidRequest } from '@trinity-rft/chat/internal';
import { ModelError, type Clock } from '@trinity-rft/core';
import { CancelledError } from '@trinity-rft/core/internal';
import type { JsonObject } from './fields.js';
import { jsonErrorPosition } from './json-position.js';
import { keepToolSources, toolSources, type ToolSource } from './tool-sources.js';

export interface RequestBody {
  readonly value: unknown;
  /** Equal for equal bytes. */
  readonly digest: string;
}

export interface BodyLimits {
  /** Maximum size of a request body in bytes. @default 20_000_000 */
  readonly maxBodyBytes?: number;
  /** How long a body may take to arrive, in ms. @default 60_000 */
  readonly bodyTimeoutMs?: number;
}

/** The bytes of a body, and what to say where they are not what is expected. */
export interface BodyText {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string | null;
  /** What the body should contain. */
  readonly expected: string;
}

export interface ParsedBody extends RequestBody {
  readonly sources: readonly ToolSource[];
}

export interface ReadBodyOptions extends BodyLimits {
  readonly runtime: { readonly clock: Clock };
  /**
   * Calls {@link parseBody} elsewhere for a body of more than a quarter of a megabyte, since it would
   * hold up all other calls.
   * @default it is parsed at once
   */
  readonly parseLongBody?: (body: BodyText) => Promise<ParsedBody>;
}

/** In bytes; parsed within two or three milliseconds. */
const longBody = 262_144;

/** Tool schemas and arguments nest a few levels; deeper values are an attack or a mistake. */
const maxDepth = 128;

/** @param expected what the body should contain. @throws ModelError 400, 408, 413 or 415 */
export async function readBody(
  request: Request,
  options: ReadBodyOptions,
  expected: string,
): Promise<RequestBody> {
  const { maxBodyBytes = 20_000_000, bodyTimeoutMs = 60_000, runtime, parseLongBody } = options;
  const bytes = await readBytes(request, maxBodyBytes, bodyTimeoutMs, runtime.clock);
  const body = { bytes, contentType: request.headers.get('content-type'), expected };
  const { value, digest, sources } =
    parseLongBody && bytes.byteLength > longBody ? await parseLongBody(body) : parseBody(body);
  keepToolSources(value, sources);
  return { value, digest };
}

/** @throws ModelError 400 or 415 */
export function parseBody(body: BodyText): ParsedBody {
  const { value, sources } = parse(body);
  if (nestsDeeper(value, maxDepth))
    throw invalidRequest('body', `is nested deeper than ${maxDepth} levels`, body.expected);
  return { value, sources, digest: hash('sha256', body.bytes, 'base64') };
}

async function readBytes(
  request: Request,
  maxBytes: number,
  timeoutMs: number,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  const length = request.headers.get('content-length');
  if (Number(length) > maxBytes) throw tooLarge(maxBytes);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stopTimer = clock.after(timeoutMs, () => reject(tooSlow(timeoutMs)));
  try {
    // HTTP servers enforce an announced length, and read such a body faster.
    return await (length === null
      ? readChunks(request, maxBytes, late)
      : Promise.race([readWhole(request), late]));
  } catch (error) {
    throw error instanceof ModelError ? error : clientGone(error);
  } finally {
    stopTimer();
  }
}

const readWhole = async (request: Request): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await request.arrayBuffer());

/** Stops reading at the limit. @param late rejects when the time is over */
async function readChunks(
  request: Request,
  maxBytes: number,
  late: Promise<never>,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!request.body) return new Uint8Array();
  const reader = (request.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  try {
    for (let size = 0; ;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) return chunks.length > 1 ? Buffer.concat(chunks) : (chunks[0] ?? new Uint8Array());
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
    }
  } catch (error) {
    // Not awaited: the client may never send the rest.
    void reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

const tooLarge = (maxBytes: number): ModelError =>
  invalidRequest('body', `is larger than ${maxBytes} bytes`, `at most ${maxBytes} bytes`, {
    status: 413,
    code: 'request_too_large',
  });

const tooSlow = (timeoutMs: number): ModelError =>
  invalidRequest('body', `did not arrive within ${timeoutMs} ms`, 'the whole body without pauses', {
    status: 408,
    code: 'request_timeout',
  });

const clientGone = (cause: unknown): CancelledError =>
  new CancelledError('The client disconnected before its request was complete.', {
    code: 'CLIENT_GONE',
    reason: 'aborted',
    cause,
  });

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse({ bytes, contentType, expected }: BodyText): Pick<ParsedBody, 'value' | 'sources'> {
  let text = '';
  try {
    text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    return { value, sources: toolSources(value, text) };
  } catch (cause) {
    if (contentType !== null && !/json|text\/plain/i.test(contentType)) {
      throw invalidRequest('body', `is ${contentType}`, `${expected} as application/json`, {
        status: 415,
        code: 'unsupported_media_type',
        cause,
      });
    }
    const what =
      cause instanceof SyntaxError ? `is not JSON${jsonErrorPosition(text)}` : 'is not UTF-8 text';
    throw invalidRequest('body', what, expected, { code: 'invalid_json', cause });
  }
}

/** Recurses no deeper than the limit: the value may have a million levels. */
function nestsDeeper(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (nestsDeeper(value[i], limit - 1)) return true;
    return false;
  }
  for (const key in value) if (nestsDeeper((value as JsonObject)[key], limit - 1)) return true;
  return false;
}
