/**
 * Reads the bodies of requests, within limits on size, time and nesting. All servers of this
 * project use this module.
 */
import { ModelError, type Clock, CancelledError } from '@trinity-rft/core';
import { jsonErrorPosition } from './json-position.js';

export interface BodyLimits {
  readonly maxBytes: number;
  /**
   * Maximum time for reading the body. Needed for requests without a socket, to which the HTTP
   * server's request timeout does not apply.
   * @default undefined: only the HTTP server's request timeout applies
   */
  readonly deadline?: { readonly ms: number; readonly clock: Pick<Clock, 'after'> } | undefined;
}

/**
 * Reads the body of a request as bytes, up to a maximum size.
 * @throws ModelError 408, 413, 415; CancelledError if the client has disconnected
 */
export async function readBytes(
  request: Request,
  { maxBytes, deadline }: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (!/^\s*identity\s*$/i.test(encoding))
    throw refused(415, 'unsupported_encoding', `is compressed (${encoding.slice(0, 40)})`, {
      expected: 'no content-encoding: compressed bodies are not read',
    });
  const length = request.headers.get('content-length');
  if (Number(length) > maxBytes) throw tooLarge(maxBytes);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stopTimer = deadline?.clock.after(deadline.ms, () => reject(tooSlow(deadline.ms)));
  try {
    // The HTTP server enforces a content length. Reading the whole body at once is then safe, and
    // faster.
    const bytes = await (length === null
      ? readChunks(request, maxBytes, late)
      : Promise.race([readWhole(request), late]));
    // Without a socket, a body may be longer than its content length.
    if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes);
    return bytes;
  } catch (error) {
    throw error instanceof ModelError ? error : clientGone(error);
  } finally {
    stopTimer?.();
  }
}

const readWhole = async (request: Request): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await request.arrayBuffer());

/**
 * Reads the chunks of a body, up to the size limit.
 * @param late promise that rejects at the deadline
 * @throws ModelError 413 if the body is larger
 */
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
      // Does not cancel the reader: that would close the connection before the client gets the
      // answer.
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
    }
  } catch (error) {
    // Does not await the cancellation, because the client may never send the remaining bytes.
    if (!isTooLarge(error)) void reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

export interface JsonText {
  /**
   * Noun phrase for the expected content of the body, for error messages. @default "a JSON
   * document"
   */
  readonly expected?: string | undefined;
  /**
   * Maximum nesting depth. Valid requests have a few levels, so a deeper value is an attack or a
   * mistake. @default 128
   */
  readonly maxDepth?: number;
  /**
   * Maximum number of values that are not numbers. It limits the number of errors that a later
   * validation can report. @default 500_000
   */
  readonly maxValues?: number;
}

/**
 * Parses JSON text within the limits on nesting and number of values.
 * @throws ModelError 400 if the text is not JSON, with the position of the first error, or if it
 * exceeds a limit
 */
export function parseJson(
  bytes: Uint8Array,
  { expected = 'a JSON document', maxDepth = 128, maxValues = 500_000 }: JsonText = {},
): { readonly value: unknown; readonly text: string } {
  let text = '';
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    const what =
      cause instanceof SyntaxError ? `is not JSON${jsonErrorPosition(text)}` : 'is not UTF-8 text';
    throw refused(400, 'invalid_json', what, { expected, cause });
  }
  const excess = excessOf(value, { depth: maxDepth, values: maxValues });
  if (excess === undefined) return { value, text };
  const what =
    excess === 'depth'
      ? `is nested deeper than ${maxDepth} levels`
      : `has more than ${maxValues} values besides numbers`;
  throw refused(400, 'invalid_request', what, { expected });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads and parses a JSON body. Returns undefined if the body is empty.
 * @throws ModelError 400, 408, 413, 415
 */
export async function readJson(request: Request, options: BodyLimits & JsonText): Promise<unknown> {
  const bytes = await readBytes(request, options);
  return bytes.byteLength === 0 ? undefined : parseJson(bytes, options).value;
}

type Excess = 'depth' | 'values' | undefined;

/**
 * Returns which limit a value exceeds, or undefined if it exceeds none. Does not recurse deeper
 * than the limit, because the value may have a million levels.
 */
function excessOf(
  root: unknown,
  limits: { readonly depth: number; readonly values: number },
): Excess {
  let left = limits.values;
  const look = (value: unknown, levels: number): Excess => {
    if (typeof value === 'number') return undefined;
    if (left-- <= 0) return 'values';
    if (typeof value !== 'object' || value === null) return undefined;
    if (levels === 0) return 'depth';
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        const excess = look(value[i], levels - 1);
        if (excess !== undefined) return excess;
      }
      return undefined;
    }
    for (const key in value) {
      const excess = look((value as Record<string, unknown>)[key], levels - 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  };
  return look(root, limits.depth);
}

const tooLarge = (maxBytes: number): ModelError =>
  refused(413, 'request_too_large', `is larger than ${maxBytes} bytes`, {
    expected: `at most ${maxBytes} bytes`,
  });

const isTooLarge = (error: unknown): boolean => error instanceof ModelError && error.status === 413;

const tooSlow = (ms: number): ModelError =>
  refused(408, 'request_timeout', `did not arrive within ${ms} ms`, {
    expected: 'the whole body without pauses',
  });

function refused(
  status: number,
  code: string,
  what: string,
  { expected, cause }: { readonly expected: string; readonly cause?: unknown },
): ModelError {
  const message = `body ${what}. Expected ${expected}.`;
  return new ModelError(message, { status, code, cause, details: { param: 'body' } });
}

const clientGone = (cause: unknown): CancelledError =>
  new CancelledError('The client disconnected before its request was complete.', {
    code: 'CLIENT_GONE',
    reason: 'aborted',
    cause,
  });
