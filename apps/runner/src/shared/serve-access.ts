/** Key of a server for models, and messages that show its URL and key. */
import type { ServeOptions, Terminal } from '@trinity-rft/launcher';
import { invalid } from './arguments.js';

/** Environment variable with the key that clients must send. */
const keyVariable = 'TRINITY_SERVE_KEY';

/**
 * Returns the key from the environment, or undefined if the server should create a random key.
 * @throws ConfigError when the key is not usable
 */
export const serveKey = (): string | undefined => keyIn(keyVariable);

/**
 * Returns a message with the server's key. If the user chose the key (`chosen`), the message names
 * the environment variable instead.
 */
export const shownKey = (chosen: string | undefined, key: string): string =>
  chosen === undefined
    ? `${key} (shown once; set ${keyVariable} to choose one)`
    : `that of ${keyVariable}`;

/**
 * Returns the key from the environment, and a callback that prints the server's URL and key.
 * @throws ConfigError when the variable contains an unusable key
 */
export function serveAccess(terminal: Terminal): Pick<ServeOptions, 'apiKey' | 'onOpen'> {
  const apiKey = keyIn(keyVariable);
  return {
    apiKey,
    onOpen: ({ url, apiKey: key, model }) => {
      const shown = shownKey(apiKey, key);
      terminal.write(`${model}\nOpenAI base URL: ${url}/v1\nAPI key: ${shown}\n`);
    },
  };
}

/**
 * Returns the key for clients of the Tinker protocol, or undefined if the server should create a
 * random key.
 * @throws ConfigError when the official client would refuse the key
 */
export function tinkerKey(): string | undefined {
  const key = keyIn(keyVariable);
  if (key === undefined || key.startsWith('tml-')) return key;
  throw invalid(
    `${keyVariable} does not begin with "tml-", as the official client of Tinker demands. Choose such a key, or unset it for a random one.`,
  );
}

/**
 * Returns the key in an environment variable, or undefined if the variable is empty or missing.
 * @throws ConfigError when the key is too short or too long, or does not fit into a header
 */
export function keyIn(variable: string): string | undefined {
  const value = process.env[variable];
  if (value === undefined || value === '') return undefined;
  if (/^[\x21-\x7e]{16,512}$/.test(value)) return value;
  throw invalid(
    `${variable} is not usable as a key. Expected 16 to 512 printable ASCII characters without spaces, or nothing for a random key.`,
  );
}
