/** What must never be shown: values whose key, or whose own look, says that they are secret. */

/** Keys that end like a secret and name a column or a variable instead. */
const harmlessKeys: ReadonlySet<string> = new Set([
  'prompt_key',
  'response_key',
  'system_prompt_key',
  'messages_key',
  'tools_key',
  'image_key',
  'video_key',
  'workflow_key',
  'reward_fn_key',
  'chosen_key',
  'rejected_key',
  'stats_key',
  'input_key',
  'output_key',
]);

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
const secretLastWords: ReadonlySet<string> = new Set(['key', 'keys', 'token', 'auth', 'authorization']);
/** Beginnings of the keys that model hubs and cloud services hand out. */
const secretLooks = /\b(?:sk-|sk_|hf_|ghp_|github_pat_|xox[bp]-|AKIA)[A-Za-z0-9_-]{8,}/g;

/** What is shown instead. */
export const redacted = '[redacted]';

/** True for `api_key`, `WANDB_API_KEY`, `accessToken`, `db_password`; false for `prompt_key`, `max_tokens`. */
export function isSecretKey(key: string): boolean {
  const snake = key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
  if (harmlessKeys.has(snake)) return false;
  const words = snake.split(/[^a-z0-9]+/).filter((word) => word !== '');
  return words.some((word) => secretWords.has(word)) || secretLastWords.has(words.at(-1) ?? '');
}

/** Text with passwords of addresses and well-known keys taken out. */
function redactText(text: string): string {
  return text.replaceAll(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi, `$1:${redacted}@`).replaceAll(secretLooks, redacted);
}

/** A copy of plain data that may be shown. */
export function redact(value: unknown, key = ''): unknown {
  if (isSecretKey(key) && value !== null && value !== undefined && typeof value !== 'boolean') return redacted;
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item) => redact(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redact(item, name)]));
}

/** A value for a message: one line, at most `limit` characters, no secrets. `path` are the keys above it. */
export function showValue(value: unknown, path: readonly (string | number)[] = [], limit = 60): string {
  if (path.some((part) => typeof part === 'string' && isSecretKey(part)) && value !== null && typeof value !== 'boolean') return redacted;
  if (value === null || value === undefined) return 'nothing';
  const text = JSON.stringify(redact(value)) ?? typeof value;
  return text.length <= limit ? text : `${text.slice(0, limit - 3)}...`;
}
