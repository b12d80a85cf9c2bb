/** Resolves paths and hub ids of the file to absolute paths or names on the hub. */
import { isAbsolute } from 'node:path';
import { parseModelId } from '@trinity-rft/core/support';
import type { KeyPath } from '../../source/node.js';
import { isSecretKey } from '../../source/secrets.js';
import type { StageContext } from './context.js';
import type { Disk } from './disk.js';

/** Path of the section that configures the experience buffer. */
export const experienceBuffer: KeyPath = ['buffer', 'trainer_input', 'experience_buffer'];

export interface Location {
  /** Absolute path if `isLocal`, else a hub id. */
  readonly path: string;
  readonly isLocal: boolean;
}

const dataFile = /\.(jsonl?|parquet|csv|txt|arrow)(\.(gz|zst))?$/i;

/**
 * Resolves a path of a folder or file relative to the working directory. If nothing exists there
 * and the value has the form `owner/name` or `name`, it is a hub id. Otherwise, reports a problem
 * and returns undefined.
 */
export function locate(context: StageContext, path: KeyPath, value: string): Location | undefined {
  if (reportAddress(context, path, value)) return undefined;
  const full = context.disk.resolve(value);
  if (context.disk.kind(full) !== undefined) return { path: full, isLocal: true };
  if (isHubId(value)) return { path: value, isLocal: false };
  const fix = value.startsWith('~')
    ? '"~" is not expanded; write ${oc.env:HOME} instead.'
    : `Relative paths start at the working directory, ${context.disk.resolve('.')}.`;
  context.report(path, `got "${value}", but there is no ${full}. ${fix}`);
  return undefined;
}

/**
 * Reports a URL such as `postgresql://host/db` where a path is expected, without its user and
 * password. Returns true for a URL.
 */
export function reportAddress(context: StageContext, path: KeyPath, value: string): boolean {
  const scheme = schemeOf(value);
  if (scheme === undefined) return false;
  const fix = instead(scheme, path);
  context.report(path, `got an address (${scheme}://), expected a path on this machine. ${fix}.`);
  return true;
}

function instead(scheme: string, [section]: KeyPath): string {
  if (scheme === 'file') return 'Leave file:// out';
  const isDatabase = /^(?:postgres(?:ql)?|sqlite)$/.test(scheme);
  if (!isDatabase) return 'Copy it to this machine';
  return section === 'buffer' ? 'Set storage_type: sql for a database' : 'Name a file or folder';
}

/**
 * Locates a model, like {@link locate}. The hub id may be `owner/name` or `owner/name/file.gguf`,
 * optionally with `@revision`.
 */
export function locateModel(
  context: StageContext,
  path: KeyPath,
  value: string,
): Location | undefined {
  if (reportAddress(context, path, value)) return undefined;
  const full = context.disk.resolve(value);
  if (context.disk.kind(full) !== undefined) return { path: full, isLocal: true };
  if (parseModelId(value) !== undefined && !dataFile.test(value))
    return { path: value, isLocal: false };
  if (!isHubId(value)) return locate(context, path, value);
  context.report(
    path,
    `got "${value}", but there is no ${full}. Give the folder of a model, a GGUF file, or the id of a model on the Hugging Face hub: owner/name.`,
  );
  return undefined;
}

function isHubId(value: string): boolean {
  return (
    /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/.test(value) &&
    !dataFile.test(value) &&
    !isAbsolute(value)
  );
}

/**
 * Checks a name that becomes part of a path in the training run's folder, or part of a metric's
 * name.
 */
export function checkName(context: StageContext, path: KeyPath, name: string): void {
  const message = invalidName(name);
  if (message !== undefined) context.report(path, message);
}

/** Returns the problem of a name that becomes part of a path, or undefined if the name is valid. */
function invalidName(name: string): string | undefined {
  const reason = isTooLong(name)
    ? `has a part of more than ${longestPartBytes} bytes`
    : nameFaults.find(([fault]) => fault.test(name))?.[1];
  return reason === undefined
    ? undefined
    : `got ${JSON.stringify(name)}, which ${reason}. It becomes part of a path: use letters, digits, "-", "_", "." and spaces.`;
}

/**
 * Returns the problem of a name that becomes a single folder, or undefined if the name is valid.
 */
export const invalidFolder = (name: string): string | undefined =>
  name.includes('/')
    ? `got ${JSON.stringify(name)}, which holds "/", but it becomes one folder. Use "_" or "-".`
    : invalidName(name);

const nameFaults: readonly (readonly [RegExp, string])[] = [
  [/(^|\/)\.\.?(\/|$)/, 'leads out of its folder'],
  [/^\/|\/$|\/\//, 'begins or ends with "/", or has two in a row'],
  // oxlint-disable-next-line no-control-regex
  [/[\u0000-\u001f\\:*?"<>|]/, 'holds a character that file names do not allow'],
  [/[. ](\/|$)/, 'has a part that ends with a dot or a space, which Windows leaves out'],
  [
    /(^|\/)(?:con|prn|aux|nul|com\d|lpt\d)(\.[^/]*)?(\/|$)/i,
    'has a part that names a device on Windows',
  ],
];

/**
 * Maximum length of a path segment in bytes: the limit of common file systems, minus the length of
 * a timestamp that may be appended.
 */
const longestPartBytes = 255 - '_20260701093000'.length;
const isTooLong = (name: string): boolean =>
  name.split('/').some((part) => Buffer.byteLength(part) > longestPartBytes);

/**
 * Returns the path of the database file that `value` names as `sqlite:///relative.db`, as
 * `sqlite:////absolute.db` or as a plain path. For other databases, reports a problem and returns
 * undefined.
 */
export function sqlitePath(
  context: StageContext,
  path: KeyPath,
  value: string,
): string | undefined {
  const file = sqliteFile(context.disk, value);
  if (file !== undefined) return file;
  const scheme = schemeOf(value);
  const message =
    scheme === 'sqlite'
      ? `got "${value}", which names no file. Write sqlite:///relative.db or sqlite:////absolute.db.`
      : `got a ${scheme} address, which is not supported. Use sqlite:///file.db.`;
  context.report(path, message);
  return undefined;
}

/** Returns the same path as {@link sqlitePath}, but does not report other databases. */
export function sqliteFile(disk: Disk, value: string): string | undefined {
  const scheme = schemeOf(value);
  if (scheme === undefined) return disk.resolve(value);
  const file = value.slice('sqlite:///'.length);
  return value.startsWith('sqlite:///') && file !== '' ? disk.resolve(file) : undefined;
}

const schemeOf = (value: string): string | undefined =>
  /^([a-z][a-z0-9+]*):\/\//i.exec(value)?.[1]?.toLowerCase();

export const isPostgres = (path: string | null): path is `${string}://${string}` =>
  /^postgres(?:ql)?:\/\//i.test(path ?? '');

/** Checks the base URL of an OpenAI-compatible API. Returns the URL without trailing slashes. */
export function apiAddress(context: StageContext, at: KeyPath, address: string): string {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    context.report(at, 'is not a URL. Expected one such as https://api.openai.com/v1.');
  else if (
    url.username !== '' ||
    url.password !== '' ||
    [...url.searchParams.keys()].some((key) => isSecretKey(key))
  )
    context.report(at, 'contains a secret. Move it to api_key, as ${oc.env:OPENAI_API_KEY}.');
  return address.replace(/\/+$/, '');
}
