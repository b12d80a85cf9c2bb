/** Recognises and redacts secrets: by the name of a field, and by the look of a text. */

/** Replaces a secret in output. */
export const redacted = '[redacted]';

/** Configuration keys that end in `_key` but name a data column. */
const columnKey =
  /^(?:prompt|response|system_prompt|messages|tools|image|video|workflow|reward_fn|chosen|rejected|stats|input|output)_key$/;

const secretWords: ReadonlySet<string> = new Set([
  'secret',
  'secrets',
  'password',
  'passwords',
  'passwd',
  'passphrase',
  'credential',
  'credentials',
  'apikey',
]);
const secretLastWords: ReadonlySet<string> = new Set([
  'key',
  'keys',
  'token',
  'tokens',
  'auth',
  'authorization',
]);

/**
 * True for `apiKey`, `WANDB_API_KEY`, `HFToken`, `db_password_file`; false for `prompt_key`,
 * `maxTokensPerStep`, `author`.
 */
export function isSecretName(name: string): boolean {
  const snake = name
    .replaceAll(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2_')
    .toLowerCase();
  if (columnKey.test(snake)) return false;
  const words = snake.split(/[^a-z0-9]+/).filter((word) => word !== '');
  return words.some((word) => secretWords.has(word)) || secretLastWords.has(words.at(-1) ?? '');
}

/** Prefixes of keys issued by model hubs, cloud services and our endpoint; and bearer tokens. */
const keyLooks =
  /\b(?:(?:sk-|sk_|rk_|ak_|hf_|ghp_|github_pat_|xox[bp]-)[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{16,})?|AKIA[A-Z0-9]{16}\b)|(?<=\bBearer )[^\s"',]+/g;

/** Shorter ones are words, and replacing them would garble texts. */
const shortestSecret = 8;
/** Longest first: one secret may begin with another. */
let known: readonly string[] = [];

/**
 * Makes {@link redactText} redact this value wherever it appears, whatever it looks like: keys that
 * a configuration or the environment holds. For the whole process, since errors of agents carry
 * them anywhere.
 */
export function knowSecret(value: string): void {
  if (value.length < shortestSecret || known.includes(value)) return;
  known = [...known, value].sort((a, b) => b.length - a.length);
}

/** Names of the environment that hold secrets, by their look. */
export function knowSecretsOf(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && isSecretName(name)) knowSecret(value);
}

/**
 * Redacts the password of every `scheme://user:password@host`, everything that looks like a key, and
 * every known secret.
 */
export function redactText(text: string): string {
  return known
    .reduce((rest, secret) => rest.replaceAll(secret, redacted), text)
    .replaceAll(/(:\/\/[^\s/:@]*:)[^\s/@]+@/g, `$1${redacted}@`)
    .replaceAll(keyLooks, redacted);
}
