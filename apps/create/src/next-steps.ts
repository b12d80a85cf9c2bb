/** Commands that the user should run after a project was created or changed. */
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

export type Environment = Readonly<Record<string, string | undefined>>;

const packageManagers: readonly PackageManager[] = ['npm', 'pnpm', 'yarn', 'bun'];

/**
 * Returns the package manager that started this process, according to `npm_config_user_agent`, or
 * npm if it is unknown.
 */
export function packageManagerOf(env: Environment): PackageManager {
  const [name] = (env['npm_config_user_agent'] ?? '').split('/');
  return packageManagers.find((known) => known === name) ?? 'npm';
}

/** For each package manager, the command prefix that runs an executable of an installed package. */
export const runners: Readonly<Record<PackageManager, string>> = {
  npm: 'npx',
  pnpm: 'pnpm exec',
  yarn: 'yarn',
  bun: 'bunx',
};

/** Quotes a path for a command line if it contains white space. */
export const quoted = (folder: string): string =>
  /\s/.test(folder) ? JSON.stringify(folder) : folder;

/**
 * Returns the install command. On Linux, it must prevent the install script of onnxruntime-node
 * from downloading a CUDA build. npm from 11.19 on (`allowScripts`) and Yarn from 2 on
 * (`dependenciesMeta`) do so by a setting in package.json. For older versions, the command sets an
 * environment variable, unless the project's `.npmrc` disables the script (`hasSetting`).
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
