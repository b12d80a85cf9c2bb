/** Whose conversation a request belongs to. */
import { hash } from 'node:crypto';

/** Header, or key of `metadata`, that names the session. */
export const sessionField = 'x-trinity-session';

export interface SessionLookup {
  /** Of an earlier answer of this server. */
  readonly sessionOf: (msgId: string) => Promise<string | undefined>;
  /** Bodies that are announced to be larger are not looked into. */
  readonly maxBodyBytes: number;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * In this order: the header, the session of the stored response that is asked for or continued,
 * `metadata`, `user`, and else the opening of the conversation: everything up to its first user
 * message. So conversations continue token by token also for clients that say nothing about
 * themselves.
 */
export async function sessionOf(request: Request, lookup: SessionLookup): Promise<string> {
  const named = request.headers.get(sessionField)?.trim();
  if (named) return `name:${named.slice(0, 256)}`;
  const stored = /\/v1\/responses\/([^/?#]+)/.exec(new URL(request.url).pathname)?.[1];
  if (stored !== undefined) return (await lookup.sessionOf(decode(stored))) ?? 'none';
  const body = await bodyOf(request, lookup.maxBodyBytes);
  if (!body) return 'none';
  const continued = text(body['previous_response_id']);
  const known = continued === undefined ? undefined : await lookup.sessionOf(continued);
  if (known !== undefined) return known;
  const metadata = text(objectOf(body['metadata'])?.[sessionField]);
  if (metadata !== undefined) return `name:${metadata.slice(0, 256)}`;
  const user = text(body['user']);
  return user === undefined ? `opening:${opening(body)}` : `user:${user.slice(0, 256)}`;
}

/** The request stays whole for its handler, which also says what is wrong with it. */
async function bodyOf(request: Request, maxBytes: number): Promise<Body | undefined> {
  // A body of unknown length could be endless, and would be kept.
  const length = request.headers.get('content-length');
  if (length === null || Number(length) > maxBytes || Number(length) === 0) return undefined;
  try {
    return objectOf(await request.clone().json());
  } catch {
    return undefined;
  }
}

function opening({ messages, input, instructions, prompt }: Body): string {
  const turns = Array.isArray(messages)
    ? messages
    : Array.isArray(input)
      ? input
      : [input ?? prompt];
  const first = turns.findIndex((turn) => objectOf(turn)?.['role'] === 'user');
  return hash(
    'sha256',
    JSON.stringify([instructions, turns.slice(0, first + 1 || 1)]),
    'base64url',
  );
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const objectOf = (value: unknown): Body | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Body)
    : undefined;

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
