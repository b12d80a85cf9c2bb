// Packs every package that is published and checks what a user would get: `publint` looks at the
// manifest and the files, `attw` at whether TypeScript finds the declarations. Needs a build.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core';
import { problemKindInfo } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { listPackages } from './workspace.ts';

const root = join(import.meta.dirname, '..');
const published = listPackages(root).filter(({ manifest }) => manifest.private !== true);
const folder = mkdtempSync(join(tmpdir(), 'trinity-pack-'));
let problems = 0;

try {
  const filters = published.flatMap(({ manifest }) => ['--filter', manifest.name]);
  execFileSync('pnpm', ['--recursive', ...filters, 'pack', '--pack-destination', folder], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const { path, manifest } of published) {
    const file = join(
      folder,
      `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`,
    );
    const tarball = new Uint8Array(readFileSync(file));
    const findings = [
      ...(await manifestProblems(tarball)),
      ...(await declarationProblems(tarball)),
    ];
    for (const finding of findings) console.error(`${path}: ${finding}`);
    problems += findings.length;
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(
  problems === 0
    ? `${published.length} packages are fit to publish.`
    : `${problems} problems in ${published.length} packages.`,
);
process.exitCode = problems === 0 ? 0 : 1;

async function manifestProblems(tarball: Uint8Array<ArrayBuffer>): Promise<readonly string[]> {
  const { messages, pkg } = await publint({
    pack: { tarball: tarball.buffer },
    strict: true,
    level: 'warning',
  });
  return messages.map(
    (message) => `publint: ${formatMessage(message, pkg, { color: false }) ?? message.code}`,
  );
}

async function declarationProblems(tarball: Uint8Array): Promise<readonly string[]> {
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (!result.types) return ['attw: the package has no declarations'];
  return result.problems
    .filter(concernsModules)
    .map((problem) => `attw: ${problemKindInfo[problem.kind].description} ${describe(problem)}`);
}

/** We publish ES modules only: how Node 10 and `require` of old see the package does not matter. */
function concernsModules(problem: Problem): boolean {
  return !(
    'resolutionKind' in problem &&
    (problem.resolutionKind === 'node10' || problem.resolutionKind === 'node16-cjs')
  );
}

function describe(problem: Problem): string {
  const { kind, ...where } = problem;
  return `(${kind} ${JSON.stringify(where)})`;
}
