/** Reads JSON request bodies within limits. */
import { hash } from 'node:crypto';
import { invalidRequest } from '@trinity-rft/chat/internal';
import type { Clock, ModelError } from '@trinity-rft/core';
import { parseJson, readBytes } from '@trinity-rft/http-server';
import { keepToolSources, toolSources, type ToolSource } from './tool-sources.js';

export interface RequestBody {
  readonly value: unknown;
  /** Digest of the body's bytes. */
  readonly digest: string;
}

export interface BodyLimits {
  /** Maximum size of a request body in bytes. @default 20_000_000 */
  readonly maxBodyBytes?: number;
  /** Maximum time in milliseconds for a body to arrive. @default 60_000 */
  readonly bodyTimeoutMs?: number;
}

/** Bytes of a request body, and data for error messages about the body. */
export interface BodyText {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string | null;
  /** Description of the expected content, used in error messages. */
  readonly expected: string;
}

export interface ParsedBody extends RequestBody {
  readonly sources: readonly ToolSource[];
}

export interface ReadBodyOptions extends BodyLimits {
  readonly runtime: { readonly clock: Clock };
  /**
   * Parses a body like {@link parseBody}, but in another thread. Used for bodies larger than 256
   * KiB, because parsing them in this thread would block all other calls.
   * @default all bodies are parsed in this thread
   */
  readonly parseLongBody?: (body: BodyText) => Promise<ParsedBody>;
}

/**
 * Maximum size in bytes of a body that is parsed in this thread. Parsing a body of this size takes
 * two or three milliseconds.
 */
const longBody = 262_144;

/**
 * Reads and parses a body.
 * @param expected description of the expected content, used in error messages
 * @throws ModelError 400, 408, 413 or 415
 */
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

/**
 * Parses a body as JSON.
 * @throws ModelError 400 or 415
 */
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
