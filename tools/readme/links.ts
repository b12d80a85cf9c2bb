/** Finds broken links and paths in documents. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** One line per link, or path in backticks, whose file or heading does not exist. */
export function brokenLinks(root: string, file: string): readonly string[] {
  const text = withoutBlocks(readFileSync(join(root, file), 'utf8'));
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => fromRepository(root, file, link))
    .filter((link) => !/^\w+:/.test(link));
  const paths = [...text.matchAll(pathInText)].map(([, path = '']) => path);
  const broken = [
    ...links.filter((link) => !leadsSomewhere(root, file, link)),
    ...paths.filter((path) => !existsFrom(root, file, path)),
  ];
  return broken.map((path) => `${file}: ${path}`);
}

/**
 * Converts links to the repository's address, which the READMEs of packages use because npm shows them
 * too, to relative links.
 */
function fromRepository(root: string, file: string, link: string): string {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly repository: { readonly url: string };
  };
  const page = repository.url.replace(/^git\+|\.git$/g, '');
  if (!link.startsWith(`${page}/`)) return link;
  const path = link.slice(page.length).replace(/^\/(?:blob|tree)\/main\//, '');
  return relative(dirname(join(root, file)), join(root, path));
}

const pathInText = /`((?:packages|apps|examples|integrations|tools|docs|src|test)\/[\w./-]+)`/g;

const withoutBlocks = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** True if a path in text exists, relative to the document or to the root of the repository. */
const existsFrom = (root: string, file: string, path: string): boolean =>
  existsSync(join(root, dirname(file), path)) ||
  existsSync(join(root, path)) ||
  // A page about workflow packages names the files of a new package.
  existsSync(join(root, 'apps/create/templates/workflow-package', path));

function leadsSomewhere(root: string, file: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? join(root, file) : join(root, dirname(file), path);
  if (!existsSync(target)) return false;
  return heading === undefined || !target.endsWith('.md') || headingsOf(target).includes(heading);
}

/** Anchors that GitHub makes from the headings of a page. */
function headingsOf(file: string): readonly string[] {
  const text = withoutBlocks(readFileSync(file, 'utf8'));
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}
