/** The key that clients of a served model send, and where they learn the server's address. */
import { ConfigError } from '@trinity-rft/core';
import type { ServeOptions, Terminal } from '@trinity-rft/launcher';

/** Environment variable with the key. */
const keyVariable = 'TRINITY_SERVE_KEY';

/** The key that the environment chooses; undefined: a random one. @throws ConfigError when it is not usable */
export const serveKey = (): string | undefined => keyOf(process.env[keyVariable]);

/** @throws ConfigError when the variable holds no usable key */
export function serveAccess(terminal: Terminal): Pick<ServeOptions, 'apiKey' | 'onOpen'> {
  const apiKey = keyOf(process.env[keyVariable]);
  return {
    apiKey,
    onOpen: ({ url, apiKey: key, model }) => {
      const shown =
        apiKey === undefined
          ? `${key} (shown once; set ${keyVariable} to choose one)`
          : `that of ${keyVariable}`;
      terminal.write(`${model}\nOpenAI base URL: ${url}/v1\nAPI key: ${shown}\n`);
    },
  };
}

/**
 * The key of clients of the Tinker protocol; undefined: a random one.
 * @throws ConfigError when the variable holds no key that the official client would send
 */
export function tinkerKey(): string | undefined {
  const key = keyOf(process.env[keyVariable]);
  if (key === undefined || key.startsWith('tml-')) return key;
  throw new ConfigError(
    `${keyVariable} does not begin with "tml-", as the official client of Tinker demands. Choose such a key, or unset it for a random one.`,
    { code: 'ARGUMENT_INVALID' },
  );
}

/** @throws ConfigError when it could be guessed, or does not fit into a header */
function keyOf(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (/^[\x21-\x7e]{16,512}$/.test(value)) return value;
  throw new ConfigError(
    `${keyVariable} is not usable as a key. Expected 16 to 512 printable ASCII characters without spaces, or nothing.`,
    { code: 'ARGUMENT_INVALID' },
  );
}
