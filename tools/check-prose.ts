// Checks the texts of the sources: comments have no unclear openings and words, and every package that
// a text names exists.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { listPackages } from './workspace.ts';

const opening =
  /\/\*\*\s*(?:\* )?(What|Which|Who|Whoever|Whether|Of|By|As|Without|None|Nobody|Never)\b(?! (?:is|are) )/g;
const words =
  /\b(nobody|somebody|whoever|who waits|for whom|of whom|goes on|go on|given back|in vain|one too many|if need be|what came of|begin anew|most telling|as long as it likes|is told|are told)\b/gi;
const comment = /\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/[^\n]*/g;
const packageName = /(@trinity-rft\/[a-z0-9-]+)/g;
/** The condition that resolves packages to their sources, and the package in `tests/support`. */
const others = ['@trinity-rft/source', '@trinity-rft/test-support'];

interface Finding {
  readonly line: number;
  readonly text: string;
}

/** Matches files with texts of the studio's page, all of which users read. */
const shown = /\/page\/texts\.ts$/;
const everything = /[\s\S]+/g;

/** Finds words and openings in a file's comments that the prose rules forbid. */
export const blemishesOf = (source: string, texts = comment): readonly Finding[] =>
  [...source.matchAll(texts)].flatMap(({ 0: text, index }) =>
    [opening, words].flatMap((pattern) => find(source, text, index, pattern)),
  );

const find = (source: string, text: string, start: number, pattern: RegExp): readonly Finding[] =>
  [...text.matchAll(pattern)].map((match) => ({
    line: source.slice(0, start + match.index).split('\n').length,
    text: match[1] ?? '',
  }));

/** Reports one line per unclear opening or word, and per name of a package that does not exist. */
export function checkProse(root: string): readonly string[] {
  const packages = listPackages(root);
  const known = new Set([...others, ...packages.map(({ manifest }) => manifest.name)]);
  return packages
    .flatMap(({ path }) => sourcesOf(join(root, path)))
    .flatMap((file) => {
      const source = readFileSync(file, 'utf8');
      const place = relative(root, file).replaceAll('\\', '/');
      const unclear = blemishesOf(source, shown.test(place) ? everything : comment);
      const missing = find(source, source, 0, packageName).filter(({ text }) => !known.has(text));
      return [
        ...unclear.map(({ line, text }) => `${place}:${line}: "${text}" reads badly; reword it`),
        ...missing.map(({ line, text }) => `${place}:${line}: there is no package ${text}`),
      ];
    });
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
