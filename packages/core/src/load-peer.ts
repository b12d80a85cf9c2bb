import { ConfigError, describeError } from './errors.js';

/**
 * Returns the command that installs an optional package. No optional package needs its install
 * scripts.
 */
export const peerInstall = (name: string): string => `npm install --ignore-scripts ${name}`;

/**
 * Loads an optional package, which a project installs only if it needs the package.
 * @param use feature that needs the package, as the beginning of a sentence: `--check of a GGUF
 * file`
 * @param load imports the package
 * @throws ConfigError with the install command if the package is not installed, or with the reason
 * if it cannot be loaded
 */
export async function loadPeer<T>(name: string, use: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && describeError(cause).includes(`'${name}'`);
    const [what, remedy] = isMissing
      ? ['is not installed', `Run: ${peerInstall(name)}`]
      : [`does not load: ${describeError(cause)}`, `Try: npm rebuild ${name}`];
    throw new ConfigError(`${use} needs the package ${name}, which ${what}. ${remedy}`, {
      code: 'PEER_MISSING',
      cause,
    });
  }
}
