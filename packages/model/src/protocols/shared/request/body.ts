/** Bodies of requests: JSON within bounds. */
import { hash } from 'node:crypto';
import { CancelledError, ModelError, type Clock } from '@trinity-rft/core';
import {
  defaultBodyTimeoutMs,
  defaultMaxBodyBytes,
  type EndpointPolicy,
} from '../endpoint-policy.js';
import type { Body } from './fields.js';
import { jsonErrorPosition } from './json-position.js';
import { refusal } from './invalid-request.js';

export interface RequestBody {
  readonly value: unknown;
  /** Equal for equal bytes. */
  readonly digest: string;
}

export interface BodyLimits extends Pick<EndpointPolicy, 'maxBodyBytes' | 'bodyTimeoutMs'> {
  readonly runtime: { readonly clock: Clock };
}

/** Tool schemas and arguments nest a few levels; what nests deeper is not meant to be read. */
const maxDepth = 128;

/** @param expected what the body should have been. @throws ModelError 400, 408, 413 or 415 */
export async function readBody(
  request: Request,
  limits: BodyLimits,
  expected: string,
): Promise<RequestBody> {
  const bytes = await readBytes(request, limits);
  const value = parse(bytes, request.headers.get('content-type'), expected);
  if (nestsDeeper(value, maxDepth))
    throw refusal('body', `nests deeper than ${maxDepth} levels`, expected);
  return { value, digest: hash('sha256', bytes, 'base64') };
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const {
    maxBodyBytes: most = defaultMaxBodyBytes,
    bodyTimeoutMs: timeoutMs = defaultBodyTimeoutMs,
    runtime,
  } = limits;
  const announced = request.headers.get('content-length');
  if (Number(announced) > most) throw tooLarge(most);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const callOff = runtime.clock.after(timeoutMs, () => reject(slow(timeoutMs)));
  try {
    // HTTP holds a body to its announced length, and servers read such a one faster.
    return await (announced === null
      ? count(request, most, late)
      : Promise.race([whole(request), late]));
  } catch (error) {
    throw error instanceof ModelError ? error : gone(error);
  } finally {
    callOff();
  }
}

const whole = async (request: Request): Promise<Uint8Array> =>
  new Uint8Array(await request.arrayBuffer());

/** Reads no further than the limit. @param late rejects when the time is over */
async function count(request: Request, most: number, late: Promise<never>): Promise<Uint8Array> {
  if (!request.body) return new Uint8Array();
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  try {
    for (let size = 0; ;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      size += value.byteLength;
      if (size > most) throw tooLarge(most);
      chunks.push(value);
    }
  } catch (error) {
    // Nothing waits for the rest: the client may never send it.
    void reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

const tooLarge = (most: number): ModelError =>
  refusal('body', `is larger than ${most} bytes`, `at most ${most} bytes`, {
    status: 413,
    code: 'request_too_large',
  });

const slow = (timeoutMs: number): ModelError =>
  refusal('body', `did not arrive within ${timeoutMs} ms`, 'the whole body without pauses', {
    status: 408,
    code: 'request_timeout',
  });

const gone = (cause: unknown): CancelledError =>
  new CancelledError('The client went away before its request was complete.', {
    code: 'CLIENT_GONE',
    reason: 'aborted',
    cause,
  });

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Uint8Array, type: string | null, expected: string): unknown {
  let text = '';
  try {
    text = utf8.decode(bytes);
    return JSON.parse(text) as unknown;
  } catch (cause) {
    if (type !== null && !/json|text\/plain/i.test(type)) {
      throw refusal('body', `is ${type}`, `${expected} as application/json`, {
        status: 415,
        code: 'unsupported_media_type',
        cause,
      });
    }
    const what =
      cause instanceof SyntaxError ? `is not JSON${jsonErrorPosition(text)}` : 'is not UTF-8 text';
    throw refusal('body', what, expected, { code: 'invalid_json', cause });
  }
}

/** Looks no deeper than the limit: the value may nest a million levels. */
function nestsDeeper(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (nestsDeeper(value[i], limit - 1)) return true;
    return false;
  }
  for (const key in value) if (nestsDeeper((value as Body)[key], limit - 1)) return true;
  return false;
}
