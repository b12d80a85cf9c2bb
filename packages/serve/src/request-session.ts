/** Determines the session, and thus the conversation, to which a request belongs. */
import { hash } from 'node:crypto';
import { decodeSegment } from '@trinity-rft/http-server';

/** Name of the header, or of the key in `metadata`, that contains the session. */
export const sessionField = 'x-trinity-session';

export interface SessionLookup {
  /**
   * Resolves to the session of an earlier completion or response of this server, or to undefined
   * for an unknown id.
   */
  readonly sessionOfCall: (msgId: string) => Promise<string | undefined>;
  /** Body of the request; undefined if it has none. */
  readonly body: unknown;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * Returns the session of a request. The first of these that is present determines it: the header,
 * the session of the stored response that is requested or continued, `metadata`, `user`, and the
 * beginning of the conversation up to its first user message. The beginning lets conversations of
 * clients that do not identify themselves continue token by token. The session is `none` for
 * requests without a body, and for retrieved responses that this server does not have.
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
 * Returns the session that a client names. The name is truncated, and lone surrogates are replaced,
 * because they would change when the session is stored.
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
