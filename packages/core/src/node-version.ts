/**
 * Minimum Node version that every package requires: major and minor number, as in `engines.node`.
 */
const needed = [22, 13] as const;

/** Returns an error message if a version of Node is too old, otherwise undefined. */
export function nodeVersionFault(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > needed[0] || (major === needed[0] && minor >= needed[1])) return undefined;
  return (
    `Trinity-RFT needs Node ${needed.join('.')} or newer; this is Node ${version} (${process.execPath}). ` +
    'Install a newer one from https://nodejs.org, or put one in front of the command: npx -y -p node@24 COMMAND.'
  );
}
