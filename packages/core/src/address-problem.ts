/** Returns true for an http or https URL. */
export const isHttpUrl = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? '');

/**
 * Returns what is wrong with the address of an HTTP server, as a text to follow the name of the
 * setting; undefined if the address can be used. The text contains no password
 * and no key of a query.
 * @param keyPlace the setting that holds the key of the server
 */
export function addressProblem(address: string, keyPlace: string): string | undefined {
  const url = URL.parse(address);
  const isHttp = url !== null && /^https?:$/.test(url.protocol);
  if (isHttp && url.username + url.password + url.search + url.hash === '') return undefined;
  return isHttp || /[@?#]/.test(address)
    ? `contains a user, a password, a query or a fragment. Move the key to ${keyPlace}.`
    : `got "${address}". Expected an address such as http://127.0.0.1:8000.`;
}
