/** Bodies of requests: JSON within limits. */
import { hash } from 'node:crypto';
import { invalidRequest } from '@trinity-rft/chat/internal';
import type { Clock, ModelError } from '@trinity-rft/core';
import { parseJson, readBytes } from '@trinity-rft/http-server';
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
  /** Expected content of the body. */
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

/** @param expected what the body should contain. @throws ModelError 400, 408, 413 or 415 */
export async function readBody(
  request: Request,
  options: ReadBodyOptions,
  expected: string,
): Promise<RequestBody> {
  const { maxBodyBytes = 20_000_000, bodyTimeoutMs = 60_000, runtime, parseLongBody } = options;
  const deadline = { ms: bodyTimeoutMs, clock: runtime.clock };
  const bytes = await readBytes(request, { maxBytes: maxBodyBytes, deadline });
  const body = { bytes, contentType: request.headers.get('content-type'), expected };
  const { value, digest, sources } =
    parseLongBody && bytes.byteLength > longBody ? await parseLongBody(body) : parseBody(body);
  keepToolSources(value, sources);
  return { value, digest };
}

/** @throws ModelError 400 or 415 */
export function parseBody(body: BodyText): ParsedBody {
  const { bytes, contentType, expected } = body;
  try {
    const { value, text } = parseJson(bytes, { expected });
    return { value, sources: toolSources(value, text), digest: hash('sha256', bytes, 'base64') };
  } catch (cause) {
    const isOther = contentType !== null && !/json|text\/plain/i.test(contentType);
    throw isOther ? notJson(body, cause) : cause;
  }
}

const notJson = ({ contentType, expected }: BodyText, cause: unknown): ModelError =>
  invalidRequest('body', `is ${contentType}`, `${expected} as application/json`, {
    status: 415,
    code: 'unsupported_media_type',
    cause,
  });
