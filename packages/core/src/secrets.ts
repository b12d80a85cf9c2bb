/** What must never be shown: names that hold secrets, and texts that look like some. */

/** What is shown instead. */
export const redacted = '[redacted]';

/** Keys of data columns end like a secret and name a place instead. */
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

/**
 * The beginnings of the keys that model hubs, cloud services and our own endpoint hand out, and
 * what follows `Bearer`.
 */
const keyLooks =
  /\b(?:(?:sk-|sk_|rk_|ak_|hf_|ghp_|github_pat_|xox[bp]-)[A-Za-z0-9_-]{8,}|AKIA[A-Z0-9]{16}\b)|(?<=\bBearer )[^\s"',]+/g;

/**
 * Text without the password of any `scheme://user:password@host` and without what looks like a key.
 */
export function redactText(text: string): string {
  return text
    .replaceAll(/(:\/\/[^\s/:@]*:)[^\s/@]+@/g, `$1${redacted}@`)
    .replaceAll(keyLooks, redacted);
}
