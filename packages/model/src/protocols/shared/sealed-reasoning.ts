/**
 * Converts reasoning to `encrypted_content`, for clients that store their conversations themselves.
 */

/** Prefix of content from this endpoint. The content is not encrypted, because it is not secret. */
const prefix = 'trinity.';

export function sealReasoning(reasoning: string): string {
  return `${prefix}${Buffer.from(reasoning, 'utf8').toString('base64')}`;
}

/**
 * Reads reasoning that this endpoint has sealed. Returns an empty string for content from other
 * servers.
 */
export function openReasoning(sealed: string | undefined): string {
  return sealed?.startsWith(prefix)
    ? Buffer.from(sealed.slice(prefix.length), 'base64').toString('utf8')
    : '';
}
