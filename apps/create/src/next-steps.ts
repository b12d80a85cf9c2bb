/** Commands to type after a project was created or changed. */
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

export type Environment = Readonly<Record<string, string | undefined>>;

const packageManagers: readonly PackageManager[] = ['npm', 'pnpm', 'yarn', 'bun'];

/** The package manager that started this process, by the variable that all of them set. */
export function packageManagerOf(env: Environment): PackageManager {
  const [name] = (env['npm_config_user_agent'] ?? '').split('/');
  return packageManagers.find((known) => known === name) ?? 'npm';
}

/** Prefix that runs a command of an installed package. */
export const runners: Readonly<Record<PackageManager, string>> = {
  npm: 'npx',
  pnpm: 'pnpm exec',
  yarn: 'yarn',
  bun: 'bunx',
};

/** A path as a word of a command line. */
export const quoted = (folder: string): string =>
  /\s/.test(folder) ? JSON.stringify(folder) : folder;

/**
 * The command that installs. Without a setting that keeps the script of onnxruntime-node from
 * running, which downloads a CUDA build on Linux, a variable does it: npm knows `allowScripts` since
 * 11.19, Yarn `dependenciesMeta` since 2.
 */
export function installCommand(
  env: Environment,
  hasSetting: boolean,
  { platform } = process,
): string {
  const command = `${packageManagerOf(env)} install`;
  const [, name, major = 0, minor = 0] =
    /^(npm|yarn)\/(\d+)\.(\d+)/.exec(env['npm_config_user_agent'] ?? '') ?? [];
  const since = name === 'npm' ? [11, 19] : [2, 0];
  const isOld =
    name !== undefined &&
    (Number(major) < since[0]! || (Number(major) === since[0] && Number(minor) < since[1]!));
  return isOld && !hasSetting && platform === 'linux'
    ? `ONNXRUNTIME_NODE_INSTALL=skip ${command}`
    : command;
}
