/**
 * Determines the session of a request. Requests of the same session belong to the same
 * conversations.
 */
import { hash } from 'node:crypto';
import { decodeSegment } from '@trinity-rft/http-server';

/**
 * Name of the HTTP header that contains the session, and of the key in `metadata` that may contain
 * it instead.
 */
export const sessionField = 'x-trinity-session';

export interface SessionLookup {
  /**
   * Returns the session of an earlier completion or response of this server, or undefined if the id
   * is unknown.
   */
  readonly sessionOfCall: (msgId: string) => Promise<string | undefined>;
  /** Parsed body of the request, or undefined if it has none. */
  readonly body: unknown;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * Returns the session of a request. It is determined by the first of these that is present: the
 * header; the stored response that the request retrieves or continues, whose session is used;
 * `metadata`; `user`; and the messages up to the first user message. Because of the last,
 * conversations can continue from their recorded tokens even if the client does not identify
 * itself. The session is `none` for requests without a body, and for requests to retrieve a
 * response that this server does not have.
 */
export async function sessionOf(request: Request, lookup: SessionLookup): Promise<string> {
  const named = request.headers.get(sessionField)?.trim();
  if (named) return sessionFor('name', named);
  const stored = /\/v1\/responses\/([^/?#]+)/.exec(new URL(request.url).pathname)?.[1];
  if (stored !== undefined) return (await lookup.sessionOfCall(decodeSegment(stored))) ?? 'none';
  const body = objectOf(lookup.body);
  if (!body) return 'none';
  const continued = text(body['previous_response_id']);
  const known = continued === undefined ? undefined : await lookup.sessionOfCall(continued);
  if (known !== undefined) return known;
  const metadata = text(objectOf(body['metadata'])?.[sessionField]);
  if (metadata !== undefined) return sessionFor('name', metadata);
  const user = text(body['user']) ?? text(objectOf(body['metadata'])?.['user_id']);
  return user === undefined ? `opening:${opening(body)}` : sessionFor('user', user);
}

/**
 * Returns the name of the session for a name or user that a client has sent. Long names are
 * truncated. Lone surrogates are replaced, because storing would change them.
 */
const sessionFor = (kind: 'name' | 'user', name: string): string =>
  `${kind}:${name.slice(0, 256).toWellFormed()}`;

function opening({ messages, input, instructions, system, prompt }: Body): string {
  const turns = Array.isArray(messages)
    ? messages
    : Array.isArray(input)
      ? input
      : [input ?? prompt];
  const first = turns.findIndex((turn) => objectOf(turn)?.['role'] === 'user');
  return hash(
    'sha256',
    JSON.stringify([instructions ?? system, turns.slice(0, first + 1 || 1)]),
    'base64url',
  );
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const objectOf = (value: unknown): Body | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Body)
    : undefined;
