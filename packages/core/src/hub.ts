/** The Hugging Face hub: ids of models, URL and access token. */
import { ConfigError } from './errors.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Model id: `owner/name` or `owner/name/file.gguf`, both optionally followed by `@revision`. */
export interface ModelId {
  readonly repository: string;
  /** Path of a GGUF file in the repository; undefined if the id names no file. */
  readonly file: string | undefined;
  /** Branch, tag or commit. @default "main" */
  readonly revision: string;
}

const idPattern =
  /^(?<repository>[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?:\/(?<file>\w[\w./-]*\.gguf))?(?:@(?<revision>\w[\w.-]*))?$/i;

/** Parses a model id. Returns undefined if `id` is not a model id. */
export function parseModelId(id: string): ModelId | undefined {
  const { repository, file, revision = 'main' } = idPattern.exec(id)?.groups ?? {};
  if (repository === undefined || id.split('/').includes('..')) return undefined;
  // `models/tiny.gguf` is the path of a local file.
  if (/\.gguf$/i.test(repository)) return undefined;
  return { repository, file, revision };
}

/**
 * Returns the URL of the hub, from HF_ENDPOINT if it is set, without surrounding white space or a
 * slash at its end.
 */
export const hubUrlOf = (environment: Environment): string =>
  (environment['HF_ENDPOINT']?.trim() || 'https://huggingface.co').replace(/\/+$/, '');

/**
 * Returns the access token in HF_TOKEN without surrounding white space, or undefined if it is not
 * set.
 * @throws ConfigError if the token contains a character that a header cannot hold. The error of
 * `fetch` would contain the token
 */
export function hubTokenOf(environment: Environment): string | undefined {
  const token = environment['HF_TOKEN']?.trim();
  if (!token) return undefined;
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new ConfigError(
    'HF_TOKEN contains white space or a character outside of ASCII. Set it to one token of the hub, hf_..., without anything else.',
    { code: 'HF_TOKEN' },
  );
}
