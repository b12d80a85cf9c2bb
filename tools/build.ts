// Builds `dist` of every package. Everything runs in one process, and one run of TypeScript makes all
// declarations: separate runs per package would take five times as long.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Options } from 'tsup';
import { listPackages, type WorkspacePackage } from './workspace.ts';

interface ConfigModule {
  readonly default: Options | Options[];
}
interface ViteModule {
  readonly build: (options: { configFile: string; logLevel: 'warn' }) => Promise<unknown>;
}
type BuildOptions = Parameters<NonNullable<Options['esbuildOptions']>>[0];

const root = join(import.meta.dirname, '..');
const declarations = join(root, 'node_modules', '.cache', 'declarations');
const packages = listPackages(root).filter(({ path }) => !path.startsWith('examples/'));

const started = performance.now();
const [exitCode] = await Promise.all([runTypeScript(), bundle()]);
if (exitCode === 0) {
  for (const each of packages) copyDeclarations(each);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`Built ${packages.length} packages in ${seconds} s.`);
}
process.exitCode = exitCode;

function runTypeScript(): Promise<number> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const child = spawn(process.execPath, [compiler, '--project', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1));
  });
}

/** Options for packages without `tsup.config.ts`, whose bundles are exactly their entry points. */
function plainOptions({ manifest }: WorkspacePackage): Options {
  const entry = Object.fromEntries(
    entriesOf(manifest.exports).map(({ source, types }) => [
      relative('dist', types).replace(/\.d\.ts$/, ''),
      source,
    ]),
  );
  return { entry, format: ['esm'], target: 'node22', sourcemap: true };
}

async function optionsOf(each: WorkspacePackage): Promise<readonly Options[]> {
  const file = join(root, each.path, 'tsup.config.ts');
  if (!existsSync(file)) return [plainOptions(each)];
  const { default: config } = (await import(file)) as ConfigModule;
  return [config].flat();
}

/** Bundles the JavaScript of all packages, with the `tsup.config.ts` of a package if it has one. */
async function bundle(): Promise<void> {
  for (const each of packages) {
    const folder = join(root, each.path);
    process.chdir(folder);
    rmSync('dist', { recursive: true, force: true });
    for (const options of await optionsOf(each)) {
      const inFolder = {
        esbuildOptions: (esbuild: BuildOptions) => void (esbuild.absWorkingDir = folder),
      };
      await build({ ...options, ...inFolder, config: false, clean: false, silent: true });
    }
    if (existsSync(join(folder, 'vite.config.ts'))) await buildPage(folder);
  }
}

/** Builds a page for browsers from its `vite.config.ts`. */
async function buildPage(folder: string): Promise<void> {
  const vite = createRequire(join(folder, 'package.json')).resolve('vite');
  const { build: buildWithVite } = (await import(pathToFileURL(vite).href)) as ViteModule;
  await buildWithVite({
    configFile: join(folder, 'vite.config.ts'),
    logLevel: 'warn',
  });
}

/** Copies the declarations of the exported modules and of the modules that they import. */
function copyDeclarations({ path, manifest }: WorkspacePackage): void {
  const from = join(declarations, path, 'src');
  const to = join(root, path, 'dist');
  const copied = new Set<string>();
  const copy = (file: string): void => {
    if (copied.has(file)) return;
    copied.add(file);
    const text = readFileSync(join(from, file), 'utf8');
    write(join(to, file), text);
    for (const [, specifier = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.js['"]/g))
      copy(`${join(dirname(file), specifier)}.d.ts`);
  };
  for (const { source, types } of entriesOf(manifest.exports)) {
    const file = relative('src', source).replace(/\.ts$/, '.d.ts');
    copy(file);
    const entry = relative('dist', types);
    if (entry !== file)
      write(join(to, entry), `export * from './${file.replace(/\.d\.ts$/, '.js')}';\n`);
  }
}

function entriesOf(exports: Readonly<Record<string, unknown>> = {}) {
  return Object.values(exports).flatMap((entry) => {
    const { '@trinity-rft/source': source, types } = entry as Partial<Record<string, string>>;
    return source === undefined || types === undefined ? [] : [{ source, types }];
  });
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
