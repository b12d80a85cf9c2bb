/** What to type after a project was created. */
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

const packageManagers: readonly PackageManager[] = ['npm', 'pnpm', 'yarn', 'bun'];

/** The package manager that started this process, by the variable that all of them set. */
export function packageManagerOf(
  env: Readonly<Record<string, string | undefined>>,
): PackageManager {
  const [name] = (env['npm_config_user_agent'] ?? '').split('/');
  return packageManagers.find((known) => known === name) ?? 'npm';
}

/** What runs a command of an installed package. */
export const runners: Readonly<Record<PackageManager, string>> = {
  npm: 'npx',
  pnpm: 'pnpm exec',
  yarn: 'yarn',
  bun: 'bunx',
};

/** A path as a word of a command line. */
export const quoted = (folder: string): string =>
  /\s/.test(folder) ? JSON.stringify(folder) : folder;

export function nextSteps({
  folder,
  packageManager,
  before,
}: {
  /** From the working directory; empty for this one. */
  readonly folder: string;
  readonly packageManager: PackageManager;
  readonly before: string | undefined;
}): readonly string[] {
  return [
    ...(folder === '' ? [] : [`cd ${quoted(folder)}`]),
    ...(before === undefined ? [] : [before]),
    `${packageManager} install`,
    `${packageManager} run train`,
  ];
}
