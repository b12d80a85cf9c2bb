/**
 * Converts reasoning to `encrypted_content` and back, for clients that keep the conversation
 * themselves.
 */

/**
 * Prefix that marks `encrypted_content` written by this endpoint. The content is encoded but not
 * encrypted, because it is not secret.
 */
const prefix = 'trinity.';

export function sealReasoning(reasoning: string): string {
  return `${prefix}${Buffer.from(reasoning, 'utf8').toString('base64')}`;
}

/**
 * Returns the reasoning in `encrypted_content` that this endpoint wrote, or an empty string for
 * content from other servers.
 */
export function openReasoning(sealed: string | undefined): string {
  return sealed?.startsWith(prefix)
    ? Buffer.from(sealed.slice(prefix.length), 'base64').toString('utf8')
    : '';
}
