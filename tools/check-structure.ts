// Checks that every package of the repository has the structure that CONTRIBUTING.md describes. Other
// tools check the rest: `turbo boundaries` the imports between layers, `knip` the dependencies,
// `publint` what is published.
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { checkFolders } from './check-folders.ts';
import { checkProse } from './check-prose.ts';
import { checkRings, sourcesOf } from './check-rings.ts';
import { listPackages, type Manifest, type WorkspacePackage } from './workspace.ts';

/** Reports one line per deviation; empty if there is none. */
export function checkStructure(root: string): readonly string[] {
  const packages = listPackages(root);
  const layers = readLayers(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'));
  const version = packages[0]?.manifest.version;
  return [
    ...packages.flatMap((pkg) =>
      checkPackage(root, pkg, layers.get(pkg.path), version).map(
        (problem) => `${pkg.path}: ${problem}`,
      ),
    ),
    ...[...layers.keys()]
      .filter((path) => !packages.some((pkg) => pkg.path === path))
      .map((path) => `CONTRIBUTING.md: the table of layers names ${path}, which does not exist`),
    ...strategyFolders.flatMap((folder) => longFiles(root, folder)),
    ...checkFolders(root),
    ...checkRings(root),
    ...checkProse(root),
    ...packages.flatMap(({ path }) => sharedHooks(root, path)),
    ...packages.flatMap(({ path }) => requiredUnknowns(root, path)),
    ...unreliableTests(root),
  ];
}

/** Folders whose files are one strategy each, from which a reader learns an algorithm. */
const strategyFolders = [
  'advantages',
  'entropy',
  'kl',
  'operators',
  'policy-losses',
  'strategies',
  'value-losses',
].map((folder) => `packages/algorithm/src/${folder}`);
const mostLines = 120;

function longFiles(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  const files = readdirSync(join(root, folder)).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  return files.flatMap((file) => {
    const lines = readFileSync(join(root, folder, file), 'utf8')
      .trimEnd()
      .split('\n').length;
    return lines > mostLines
      ? [`${folder}/${file}: ${lines} lines; a strategy has at most ${mostLines}`]
      : [];
  });
}

/**
 * Finds hooks of Vitest in modules that test files share. Vitest loads such a module once per
 * process, so that its hooks apply to the first test file only.
 */
function sharedHooks(root: string, path: string): readonly string[] {
  const folder = join(root, path, 'test');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test|\.d)\.ts$/.test(file))
    .filter((file) =>
      /^(?:before|after)(?:All|Each)\(/m.test(readFileSync(join(folder, file), 'utf8')),
    )
    .map(
      (file) => `${path}/test/${file}: a hook of a shared module; use afterFile of test-support`,
    );
}

/**
 * Finds keys of Zod objects that accept every value and are required. Zod rejects an object without
 * such a key, although the schema looks as if it accepted that.
 */
const requiredUnknowns = (root: string, path: string): readonly string[] =>
  sourcesOf(join(root, path)).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(\w+): z\.(?:any|unknown)\(\)(?!\s*\.)/g)].map(
      ([, key]) =>
        `${relative(root, file).replaceAll('\\', '/')}: ${key} must be present; add .optional()`,
    ),
  );

/**
 * Finds tests that can stand still without end, or fail on a busy machine. Vitest cannot end a test
 * that blocks until a program ends, and a program may survive SIGTERM. It reports without end that it
 * cannot report while a test has changed the channel to its parent process. Its `waitFor` and
 * `waitUntil` end after one second by default.
 */
const unreliableTests = (root: string): readonly string[] =>
  globSync(['{packages,integrations,apps,examples}/*/{src,test}/**/*.ts', 'tests/**/*.ts'], {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  }).flatMap((file) => {
    const code = readFileSync(join(root, file), 'utf8');
    const place = file.replaceAll('\\', '/');
    const channel = changedChannel.test(code)
      ? [`${place}: changes the channel of Vitest's process`]
      : [];
    const calls = code
      .split(/(?<![\w.$])(?:spawnSync|execFileSync|execSync)(?=\()/)
      .slice(1)
      .map((rest) => rest.split(/;$/m)[0]!)
      .filter(
        (call) => !call.includes("process.execPath, ['-e'") && !/timeout.*'SIGKILL'/s.test(call),
      )
      .map(
        (call) =>
          `${place}: a blocking call without \`timeout\` and \`killSignal: 'SIGKILL'\`: ${call.split('\n')[0]}`,
      );
    const waits = [...code.matchAll(waitOfVitest)]
      .filter(([wait]) => !/timeout|patience/.test(wait))
      .map(
        ([wait]) =>
          `${place}: a wait that ends after one second; use expect.poll or name a timeout: ${wait.trim().split('\n')[0]}`,
      );
    return [...channel, ...calls, ...waits];
  });

/** A call of a method of Vitest that waits, up to the end of its statement. */
const waitOfVitest = /^( *).*\bvi\.wait(?:For|Until)\((?:.*;$|[^]*?^\1\S.*;$)/gm;

const changedChannel =
  /\bprocess\.(?:connected|send)\s*=(?!=)|Object\.assign\(process,[^;]*\b(?:connected|send)\b|\(process, '(?:connected|send)'/;

function checkPackage(
  root: string,
  { path, manifest }: WorkspacePackage,
  layer: string | undefined,
  version: string | undefined,
) {
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string) => {
    if (!holds) problems.push(problem);
  };
  const has = (file: string) => existsSync(join(root, path, file));
  const example = path.startsWith('examples/');

  const name = `@trinity-rft/${example ? 'example-' : ''}${path.split('/')[1]}`;
  expect(manifest.name === name, `the name is ${manifest.name}, not ${name}`);
  expect(
    example || manifest.version === version,
    `the version is ${manifest.version}, not ${version} as everywhere`,
  );
  expect(manifest.license === 'Apache-2.0', 'the license is not Apache-2.0');
  expect(manifest.type === 'module', 'the type is not "module"');
  expect(manifest.sideEffects === false, '"sideEffects" is not false');
  expect(Boolean(manifest.description), 'there is no description');
  expect(manifest.engines?.['node'] === '>=22.13', 'engines.node is not ">=22.13"');
  for (const file of ['README.md', 'tsconfig.json', 'turbo.json', 'src/index.ts'])
    expect(has(file), `there is no ${file}`);
  problems.push(...checkLayer(root, path, layer), ...checkRanges(manifest));

  if (example) {
    expect(manifest.private === true, 'an example is not private');
    return problems;
  }
  expect(manifest.publishConfig?.['access'] === 'public', 'publishConfig.access is not "public"');
  const shipped = ['NOTICE', 'data', 'dist', 'python', 'templates'];
  const files = shipped.filter((name) => name === 'dist' || has(name)).join();
  expect(manifest.files?.join() === files, `"files" is not [${files}]`);
  problems.push(...checkExports(manifest));
  if (has('src/index.ts')) {
    const statement = firstForeignStatement(readFileSync(join(root, path, 'src/index.ts'), 'utf8'));
    expect(
      statement === undefined,
      `src/index.ts holds more than \`export ... from\`: ${statement}`,
    );
  }
  return problems;
}

/**
 * Checks that the layer tag in `turbo.json`, which `turbo boundaries` enforces, equals the table of
 * CONTRIBUTING.md.
 */
function checkLayer(root: string, path: string, layer: string | undefined): readonly string[] {
  if (layer === undefined) return ['the table of layers in CONTRIBUTING.md does not name it'];
  const file = join(root, path, 'turbo.json');
  if (!existsSync(file)) return [];
  const { tags } = JSON.parse(readFileSync(file, 'utf8')) as { tags?: readonly string[] };
  return tags?.join() === layer
    ? []
    : [`turbo.json has the tags [${tags?.join() ?? ''}], CONTRIBUTING.md says ${layer}`];
}

/**
 * Checks version ranges. Peer dependencies have a range of supported versions; the tests use the
 * catalog's version.
 */
function checkRanges(manifest: Manifest): readonly string[] {
  const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  const everyPeer = Object.entries(manifest.peerDependencies ?? {});
  const peers = everyPeer.filter(([name]) => manifest.devDependencies?.[name] !== 'catalog:');
  const exact = everyPeer.find(([, range]) => /^(catalog:|[\d.]+)$/.test(range));
  if (exact) return [`has ${exact[0]} as a peer of one version: name the range that works`];
  return [...all, ...peers]
    .filter(
      // Ignores test doubles in the workspace that have the name of a foreign package.
      ([name, range]) =>
        range !== 'workspace:*' && (name.startsWith('@trinity-rft/') || range !== 'catalog:'),
    )
    .map(
      ([name, range]) =>
        `depends on ${name} as "${range}": write "workspace:*" for our packages, "catalog:" for others`,
    );
}

/**
 * Checks that every entry point names our sources under our own condition, then types, then code, and
 * that no entry point exposes paths of `dist`.
 */
function checkExports(manifest: Manifest): readonly string[] {
  const entries = Object.entries(manifest.exports ?? {}).filter(
    ([entry]) => entry !== './package.json',
  );
  if (!entries.some(([entry]) => entry === '.')) return ['exports has no "."'];
  return entries
    .filter(
      ([, target]) =>
        typeof target !== 'object' ||
        Object.keys(target ?? {}).join() !== '@trinity-rft/source,types,default',
    )
    .map(
      ([entry]) =>
        `exports["${entry}"] does not have exactly the conditions @trinity-rft/source, types, default, in this order`,
    );
}

/**
 * First statement of an `index.ts` that is not `export ... from '...'`. `export {}` is allowed in an
 * index without exports.
 */
function firstForeignStatement(source: string): string | undefined {
  const rest = source
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(
      /^\s*export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s+from\s+'[^']+';$/gm,
      '',
    )
    .replace(/^\s*export \{\};$/m, '')
    .trim();
  return rest === '' ? undefined : rest.split('\n')[0];
}

/** Reads the table of layers, whose rows are `| l0 | \`packages/core\`, ... |`. */
function readLayers(contributing: string): ReadonlyMap<string, string> {
  const rows = contributing.matchAll(/^\|\s*(l\d)\s*\|(.*)\|$/gm);
  return new Map(
    [...rows].flatMap(([, layer = '', cell = '']) =>
      [...cell.matchAll(/`([\w-]+\/[\w-]+)`/g)].map(([, path = '']) => [path, layer] as const),
    ),
  );
}

if (process.argv[1] === import.meta.filename) {
  const problems = checkStructure(join(import.meta.dirname, '..'));
  for (const problem of problems) console.error(problem);
  console.log(
    problems.length === 0
      ? 'Every package has the shape that CONTRIBUTING.md promises.'
      : `${problems.length} deviations.`,
  );
  process.exitCode = problems.length === 0 ? 0 : 1;
}
