/** Ids of models on the Hugging Face hub. */

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
