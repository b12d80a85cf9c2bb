// Packs every package that is published and checks its contents: `publint` checks the manifest and the
// files, `attw` whether TypeScript finds the declarations, and this script the links to the repository.
// Needs a build.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkPackage,
  createPackageFromTarballData,
  type Package,
  type Problem,
} from '@arethetypeswrong/core';
import { problemKindInfo } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { packAll, readTarball, type PackedPackage } from './packages/pack.ts';
import {
  originProblems,
  readmeProblems,
  typeProblems,
  type PackedManifest,
} from './packages/published.ts';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'trinity-pack-'));
let count = 0;
let problems = 0;

try {
  for (const packed of packAll(root, folder)) {
    const findings = await findProblems(packed);
    for (const finding of findings) console.error(`${packed.path}: ${finding}`);
    count++;
    problems += findings.length;
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(
  problems === 0
    ? `${count} packages are fit to publish.`
    : `${problems} problems in ${count} packages.`,
);
process.exitCode = problems === 0 ? 0 : 1;

async function findProblems(packed: PackedPackage): Promise<readonly string[]> {
  const tarball = readTarball(packed);
  const contents = createPackageFromTarballData(tarball);
  const read = (name: string): string | undefined =>
    contents.tryReadFile(`/node_modules/${contents.packageName}/${name}`);
  const manifest = JSON.parse(read('package.json') ?? '{}') as PackedManifest;
  return [
    ...originProblems(root, packed.path, manifest),
    ...readmeProblems(read('README.md')),
    ...typeProblems(manifest, read),
    ...(await manifestProblems(tarball)),
    ...(await declarationProblems(contents)),
  ];
}

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

async function declarationProblems(contents: Package): Promise<readonly string[]> {
  const result = await checkPackage(contents);
  if (!result.types) return ['attw: the package has no declarations'];
  return result.problems
    .filter(concernsModules)
    .map((problem) => `attw: ${problemKindInfo[problem.kind].description} ${describe(problem)}`);
}

/**
 * True for problems that concern ES modules. Problems of Node 10 and of `require` are ignored, because
 * we publish ES modules only.
 */
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
