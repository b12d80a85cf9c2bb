// Prints figures about the readability of a checkout: `pnpm figures [FOLDER...]`, a column per folder
// (default: this repository). The figures show trends and have no limits.
//
// Unless a figure says otherwise, it counts the sources: the `.ts` files that git tracks in the `src`
// of `packages`, `integrations` and `apps`, without tests (`*.test.ts`) and fixtures.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import ts from 'typescript';

/** A file of the checkout: its path from the root, with forward slashes, and its text. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** A row of the table. */
export type Figure = readonly [name: string, value: string];

/** All figures of a checkout from the TypeScript, Markdown and `package.json` files in it. */
export function measure(files: readonly TextFile[]): readonly Figure[] {
  const sources = files.filter(({ path }) => isSource(path));
  const trees = sources.map(parse);
  const functions = trees.flatMap(namedFunctions);
  const lengths = functions.map(({ characters }) => characters).toSorted((a, b) => a - b);
  const lines = sources.flatMap(({ text }) => linesOf(text));
  const codeLines = sum(trees.map(countCodeLines));
  const packages = readPackages(files);
  const values = packages.map(({ values }) => values).toSorted((a, b) => a - b);
  const exported = sum(packages.map(({ exported }) => exported));
  const words = wordsOfMarkdown(files);
  return [
    ['function length in characters, median', String(quantile(lengths, 0.5))],
    ['function length in characters, p95', String(quantile(lengths, 0.95))],
    ['functions over 60 lines', String(functions.filter(({ lines }) => lines > 60).length)],
    ['lines over 100 columns', percent(lines.filter(isLong).length, lines.length)],
    ['`!` per 1,000 code lines', perThousand(sum(trees.map(countNonNull)), codeLines)],
    ['`...(x && { x })`', String(sum(trees.map(countConditionalSpreads)))],
    [
      'exports that no other package imports',
      `${percent(sum(packages.map(({ unused }) => unused)), exported)} of ${exported}`,
    ],
    ['values in an `index.ts`, median', String(quantile(values, 0.5))],
    ['values in an `index.ts`, most', String(values.at(-1) ?? 0)],
    ['words of Markdown', String(words.all)],
    ['words of Markdown, without generated ones', String(words.written)],
    ['files under 25 lines', `${sources.filter(isShort).length} of ${sources.length}`],
    ['code lines', String(codeLines)],
    ['packages in `packages`', String(files.filter(({ path }) => isManifest(path)).length)],
    [
      'lines outside tests, product',
      String(filledLines(files, /^(?:packages|integrations|apps)\//)),
    ],
    ['lines outside tests, tools and benches', String(filledLines(files, /^(?:tools|bench)\//))],
  ];
}

const isSource = (path: string): boolean =>
  /^(?:packages|integrations|apps)\/[^/]+\/src\/.*\.ts$/.test(path) && !isTest(path);
const isTest = (path: string): boolean => /\.test\.ts$|\/fixtures\//.test(path);

const isManifest = (path: string): boolean => /^packages\/[^/]+\/package\.json$/.test(path);

/** Number of non-blank lines, including comments, of the TypeScript files in some folders. */
const filledLines = (files: readonly TextFile[], folders: RegExp): number =>
  sum(
    files
      .filter(({ path }) => folders.test(path) && /\.tsx?$/.test(path))
      .filter(({ path }) => !isTest(path) && !/\/(?:test|templates)\//.test(path))
      .map(({ text }) => linesOf(text).filter((line) => line.trim() !== '').length),
  );

const parse = ({ path, text }: TextFile): ts.SourceFile =>
  ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

interface FunctionSize {
  readonly characters: number;
  readonly lines: number;
}

/**
 * Sizes of the functions that have a name: declarations, methods, accessors, constructors, and
 * functions with a block that initialize a variable or property. A size is the number of characters
 * from the first word of the function to its last brace, without its doc comment.
 */
function namedFunctions(tree: ts.SourceFile): readonly FunctionSize[] {
  return nodesOf(tree)
    .filter(isNamedFunction)
    .map((node) => ({
      characters: node.getWidth(tree),
      lines: linesOf(node.getText(tree)).length,
    }));
}

function isNamedFunction(node: ts.Node): boolean {
  if (ts.isArrowFunction(node) || ts.isFunctionExpression(node))
    return ts.isBlock(node.body) && isInitializer(node);
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

const isInitializer = ({ parent }: ts.Node): boolean =>
  ts.isVariableDeclaration(parent) ||
  ts.isPropertyAssignment(parent) ||
  ts.isPropertyDeclaration(parent);

/** Number of lines with a token, so neither blank lines nor lines with only a comment. */
function countCodeLines(tree: ts.SourceFile): number {
  const found = new Set<number>();
  for (const node of nodesOf(tree)) {
    if (node.getChildCount(tree) > 0 || node.getWidth(tree) === 0) continue;
    const first = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line;
    const last = tree.getLineAndCharacterOfPosition(node.getEnd()).line;
    for (let line = first; line <= last; line++) found.add(line);
  }
  return found.size;
}

const countNonNull = (tree: ts.SourceFile): number =>
  nodesOf(tree).filter((node) => ts.isNonNullExpression(node)).length;

/** Number of `...(condition && value)` in object literals. */
function countConditionalSpreads(tree: ts.SourceFile): number {
  return nodesOf(tree).filter(
    (node) => ts.isSpreadAssignment(node) && isConditional(node.expression),
  ).length;
}

function isConditional(expression: ts.Expression): boolean {
  const inner = ts.isParenthesizedExpression(expression) ? expression.expression : expression;
  return (
    ts.isBinaryExpression(inner) &&
    inner.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken
  );
}

const isLong = (line: string): boolean => line.length > 100;
const isShort = ({ text }: TextFile): boolean => linesOf(text).length < 25;

interface PackageExports {
  /** Number of names that the entry points export. */
  readonly exported: number;
  /** Number of exported names that no file of another package imports, including tests and examples. */
  readonly unused: number;
  /** Number of exported names of `.` that are not types. */
  readonly values: number;
}

/** Packages in `packages`; integrations and apps export nothing to the others. */
function readPackages(files: readonly TextFile[]): readonly PackageExports[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const imports = files.filter(({ path }) => path.endsWith('.ts')).flatMap(readImports);
  return files
    .filter(({ path }) => /^packages\/[^/]+\/package\.json$/.test(path))
    .map(({ path, text }) => {
      const folder = dirname(path);
      const { name, exports } = JSON.parse(text) as Manifest;
      const entries = Object.entries(exports ?? {}).flatMap(([entry, target]) =>
        typeof target === 'string'
          ? []
          : [[entry, exportsOf(posix.join(folder, target[ownCondition] ?? ''), texts)] as const],
      );
      const names = new Set(entries.flatMap(([, exported]) => [...exported.keys()]));
      const imported = imports
        .filter(({ file, from }) => isFrom(name, from) && !file.startsWith(`${folder}/`))
        .flatMap(({ imported }) => imported);
      const main = entries.find(([entry]) => entry === '.')?.[1] ?? new Map<string, Kind>();
      return {
        exported: names.size,
        unused: names.difference(new Set(imported)).size,
        values: [...main.values()].filter((kind) => kind === 'value').length,
      };
    });
}

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

const ownCondition = '@trinity-rft/source';
const isFrom = (name: string, from: string): boolean =>
  from === name || from.startsWith(`${name}/`);

interface Import {
  /** Path of the importing file. */
  readonly file: string;
  readonly from: string;
  readonly imported: readonly string[];
}

/**
 * Names in imports and re-exports: `a` for both `import { a as b } from 'x'` and `export { a } from
 * 'x'`.
 */
function readImports(file: TextFile): readonly Import[] {
  return parse(file).statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const clause = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : statement.exportClause;
    const named = clause && (ts.isNamedImports(clause) || ts.isNamedExports(clause));
    const imported = named
      ? clause.elements.map(({ propertyName, name }) => (propertyName ?? name).text)
      : [];
    return [{ file: file.path, from: moduleSpecifier.text, imported }];
  });
}

type Kind = 'type' | 'value';

/** Names that a file exports, including those of files that it re-exports with `export *`. */
function exportsOf(path: string, texts: ReadonlyMap<string, string>): ReadonlyMap<string, Kind> {
  const text = texts.get(path);
  if (text === undefined) return new Map();
  return new Map(
    parse({ path, text }).statements.flatMap((statement) => {
      if (!ts.isExportDeclaration(statement)) return declaredNames(statement);
      const { exportClause, moduleSpecifier, isTypeOnly } = statement;
      const kindOf = (isType: boolean): Kind => (isType || isTypeOnly ? 'type' : 'value');
      if (exportClause && ts.isNamedExports(exportClause))
        return exportClause.elements.map(
          (each) => [each.name.text, kindOf(each.isTypeOnly)] as const,
        );
      if (exportClause) return [[exportClause.name.text, kindOf(false)] as const];
      const target = (moduleSpecifier as ts.StringLiteral).text.replace(/\.js$/, '.ts');
      return [...exportsOf(posix.join(posix.dirname(path), target), texts)];
    }),
  );
}

function declaredNames(statement: ts.Statement): readonly (readonly [string, Kind])[] {
  const exported =
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  if (!exported) return [];
  const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
  const declarations = ts.isVariableStatement(statement)
    ? statement.declarationList.declarations
    : [statement as ts.DeclarationStatement];
  return declarations.flatMap(({ name }) =>
    name && ts.isIdentifier(name) ? [[name.text, isType ? 'type' : 'value'] as const] : [],
  );
}

/**
 * Words as counted by `wc -w`. In a reference page, everything after the line `<!-- From here on
 * written by ... -->` is generated.
 */
function wordsOfMarkdown(files: readonly TextFile[]): { all: number; written: number } {
  const pages = files.filter(({ path }) => path.endsWith('.md')).map(({ text }) => text);
  const written = pages.map((text) => text.split('<!-- From here on written by')[0] ?? '');
  return { all: sum(pages.map(countWords)), written: sum(written.map(countWords)) };
}

const countWords = (text: string): number => text.match(/\S+/g)?.length ?? 0;
const linesOf = (text: string): readonly string[] => text.replace(/\n$/, '').split('\n');

/** All nodes of a file, tokens included. */
function nodesOf(tree: ts.SourceFile): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    found.push(node);
    for (const child of node.getChildren(tree)) if (!ts.isJSDoc(child)) visit(child);
  };
  visit(tree);
  return found;
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
/** Quantile of ascending numbers: the nearest value below. */
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;
const perThousand = (part: number, whole: number): string => ((1000 * part) / whole).toFixed(1);

/** Text files that git tracks in a folder, with their content on disk. */
function readCheckout(root: string): readonly TextFile[] {
  const paths = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.md', '*package.json'], {
    cwd: root,
    encoding: 'utf8',
  });
  return paths
    .trim()
    .split('\n')
    .filter((path) => existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

if (process.argv[1] === import.meta.filename) {
  const named = process.argv.slice(2);
  const folders = named.length > 0 ? named : [join(import.meta.dirname, '..')];
  const columns = folders.map((folder) => measure(readCheckout(folder)));
  const width = Math.max(...columns.flat().map(([, value]) => value.length));
  for (const [row, [name]] of columns[0]!.entries()) {
    const values = columns.map((column) => column[row]![1].padStart(width));
    console.log([name.padEnd(42), ...values].join('  '));
  }
}
