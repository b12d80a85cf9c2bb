// Checks the wording of comments: `node tools/check-prose.ts [packages/NAME...]` lists unclear openings
// and words. Packages written before the rules have an allowance in `prose-allowance.json`, which may
// only decrease: `--lower` writes the current counts.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { listPackages } from './workspace.ts';

const opening =
  /\/\*\*\s*(?:\* )?(What|Which|Who|Whoever|Whether|Of|By|As|Without|None|Nobody|Never)\b(?! (?:is|are) )/g;
const words =
  /\b(nobody|somebody|whoever|who waits|for whom|of whom|goes on|go on|given back|in vain|one too many|if need be|what came of|begin anew|most telling|as long as it likes|is told|are told)\b/gi;
const comment = /\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/[^\n]*/g;

export interface Blemish {
  readonly line: number;
  readonly text: string;
}

/** Matches files with texts of the studio's page, all of which users read. */
const shown = /\/page\/texts\.ts$/;
const everything = /[\s\S]+/g;

/** Finds words and openings in a file's comments that the prose rules forbid. */
export function blemishesOf(source: string, texts = comment): readonly Blemish[] {
  return [...source.matchAll(texts)].flatMap(({ 0: text, index }) =>
    [opening, words].flatMap((pattern) =>
      [...text.matchAll(pattern)].map((match) => ({
        line: source.slice(0, index + match.index).split('\n').length,
        text: match[1] ?? '',
      })),
    ),
  );
}

/** Reports one line per package with more findings than its allowance, with the first findings. */
export function checkProse(root: string, prose = proseOf(root)): readonly string[] {
  const allowed = readAllowance(root);
  return prose.flatMap(({ path, found }) => {
    const most = allowed[path] ?? 0;
    if (found.length <= most) return [];
    const first = found.slice(0, 5).map(({ file, line, text }) => `${file}:${line} "${text}"`);
    return [
      `${path}: ${found.length} comments read badly; at most ${most} do (node tools/check-prose.ts ${path}): ${first.join(', ')}`,
    ];
  });
}

const allowanceOf = (root: string): string => join(root, 'tools/prose-allowance.json');

function readAllowance(root: string): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(allowanceOf(root), 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

function proseOf(root: string) {
  return listPackages(root).map(({ path }) => ({
    path,
    found: sourcesOf(join(root, path)).flatMap((file) =>
      blemishesOf(readFileSync(file, 'utf8'), shown.test(file) ? everything : comment).map(
        (each) => ({
          file: relative(root, file).replaceAll('\\', '/'),
          ...each,
        }),
      ),
    ),
  }));
}

const sourcesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory())
        return /^(?:node_modules|dist)$/.test(entry.name) ? [] : sourcesOf(path);
      return /(?<!\.d)\.tsx?$/.test(entry.name) ? [path] : [];
    });

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, '..');
  const named = process.argv.slice(2);
  const prose = proseOf(root);
  if (named.includes('--lower')) {
    const old = readAllowance(root);
    const left = prose
      .map(({ path, found }) => [path, Math.min(found.length, old[path] ?? Infinity)] as const)
      .filter(([, count]) => count > 0);
    writeFileSync(allowanceOf(root), `${JSON.stringify(Object.fromEntries(left), null, 2)}\n`);
  } else {
    for (const { found } of prose.filter(({ path }) => named.includes(path)))
      for (const { file, line, text } of found) console.log(`${file}:${line} "${text}"`);
    const problems = checkProse(root, prose);
    for (const problem of problems) console.error(problem);
    process.exitCode = problems.length === 0 ? 0 : 1;
  }
}
