/** Links and paths in documents that lead nowhere. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** One line per link, or path in backticks, to a file or heading that does not exist. */
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
 * The READMEs of packages link to the repository by its address, because npm shows them too: such a
 * link as one from the document.
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

/** Paths in text start at the document or at the root of the repository. */
const existsFrom = (root: string, file: string, path: string): boolean =>
  existsSync(join(root, dirname(file), path)) ||
  existsSync(join(root, path)) ||
  // A page about packages of workflows names the files of a new one.
  existsSync(join(root, 'apps/create/templates/workflow-package', path));

function leadsSomewhere(root: string, file: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? join(root, file) : join(root, dirname(file), path);
  if (!existsSync(target)) return false;
  return heading === undefined || !target.endsWith('.md') || headingsOf(target).includes(heading);
}

/** The anchors that GitHub makes of the headings of a page. */
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
