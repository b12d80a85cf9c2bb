/** Returns true for an http or https URL. */
export const isHttpUrl = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? '');

/**
 * Checks the address of an HTTP server. Returns the problem as a phrase that follows the name of
 * the setting in a message, or undefined if the address can be used. The phrase contains no
 * password and no key from the address.
 * @param keyPlace name of the setting for the server's API key, which an address must not contain
 */
export function addressProblem(address: string, keyPlace: string): string | undefined {
  const url = isHttpUrl(address) ? new URL(address) : undefined;
  if (url && url.username + url.password + url.search + url.hash === '') return undefined;
  return url || /[@?#]/.test(address)
    ? `contains a user, a password, a query or a fragment. Move the key to ${keyPlace}.`
    : `got "${address}". Expected an address such as http://127.0.0.1:8000.`;
}
