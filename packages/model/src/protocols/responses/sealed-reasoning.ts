/**
 * Reasoning in the form of `encrypted_content`, for clients that keep their conversations
 * themselves.
 */

/**
 * Tells what this endpoint wrote from what another one did. Nothing is secret here, so nothing is
 * encrypted.
 */
const mark = 'trinity.';

export function sealReasoning(reasoning: string): string {
  return `${mark}${Buffer.from(reasoning, 'utf8').toString('base64')}`;
}

/** Empty for what was written elsewhere. */
export function openReasoning(sealed: string | undefined): string {
  return sealed?.startsWith(mark)
    ? Buffer.from(sealed.slice(mark.length), 'base64').toString('utf8')
    : '';
}
