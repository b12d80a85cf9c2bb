/**
 * Signed URLs that work without the API key for a limited time. They exist because clients do not
 * send the key with downloads.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export interface SignedPaths {
  /** Returns `path` with a signature that is valid until `expires`, in ms since 1970. */
  sign(path: string, expires: number): string;
  isValid(address: URL, now: number): boolean;
}

/** Creates a signer whose signatures become invalid when the process ends. */
export function signedPaths(): SignedPaths {
  const secret = randomBytes(32);
  const signatureOf = (path: string, expires: string): Buffer =>
    createHmac('sha256', secret).update(`${expires} ${path}`).digest();
  return {
    sign: (path, expires) =>
      `${path}?expires=${expires}&signature=${signatureOf(path, String(expires)).toString('base64url')}`,
    isValid: ({ pathname, searchParams }, now) => {
      const expires = searchParams.get('expires') ?? '';
      const given = Buffer.from(searchParams.get('signature') ?? '', 'base64url');
      const expected = signatureOf(pathname, expires);
      const isRight = given.length === expected.length && timingSafeEqual(given, expected);
      return isRight && now < Number(expires);
    },
  };
}
