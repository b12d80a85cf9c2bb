/** Recognises secrets by the name of a field or by patterns in a text, and redacts them. */
import { ConfigError, describeError, TaskError } from './errors.js';

/** Text that replaces a secret in output. */
export const redacted = '[redacted]';

/** Configuration keys that end in `_key` but name a data column. */
const columnKey =
  /^(?:prompt|response|system_prompt|messages|tools|image|video|workflow|reward_fn|chosen|rejected|stats|input|output)_key$/;

const secretWords: ReadonlySet<string> = new Set([
  'secret',
  'secrets',
  'password',
  'passwords',
  'passwort',
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
 * Matches names in which the secret word is not the last one, such as `PRIVATE_KEY_PEM` and
 * `apiKeyBase64`.
 */
const secretPhrase = /(?:^|_)(?:private|api|access)_key(?:_|$)/;

/**
 * Returns true for `apiKey`, `WANDB_API_KEY`, `HFToken`, `db_password_file`; false for
 * `prompt_key`, `maxTokensPerStep`, `author`.
 */
export function isSecretName(name: string): boolean {
  const snake = name
    .replaceAll(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2_')
    .toLowerCase();
  // The value of a name such as `API_KEY_ENV` is the name of an environment variable, not a secret.
  if (columnKey.test(snake.replaceAll('-', '_')) || /[-_]env$/.test(snake)) return false;
  const words = snake.split(/[^a-z0-9]+/).filter((word) => word !== '');
  return (
    words.some((word) => secretWords.has(word)) ||
    secretLastWords.has(words.at(-1) ?? '') ||
    secretPhrase.test(words.join('_'))
  );
}

/**
 * Matches three kinds of secrets: keys with the prefixes of model hubs, cloud services, code hosts
 * and Trinity's endpoint; JSON web tokens; and the value after an authorization scheme.
 */
const keyLooks =
  /\b(?:(?:sk-|sk_|rk_|ak_|hf_|ghp_|gho_|ghs_|github_pat_|glpat-|gsk_|npm_|pypi-|xox[abps]-)[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{16,})?|(?:AKIA|ASIA)[A-Z0-9]{16}\b|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)|(?<=\b(?:Bearer|Basic) )[^\s"',]+/g;
/** Matches templates and variables after `Bearer` and `Basic`, such as `${token}`. */
const schemeTemplate =
  /^(?:\$?\{{1,2}[A-Za-z_.]*(?:\W|$)|<[A-Za-z_.-]*(?:\W|$)|\[[A-Za-z_.-]*(?:\W|$)|\$[A-Z_]+\W*$)/;
/** Matches words of prose after `Bearer` and `Basic`, such as `Basic arithmetic`. */
const proseWord = /^[A-Z]?[a-z]{1,12}\W*$/;

/**
 * Matches a private key in PEM format, which may be cut off. Line breaks may be real or escaped.
 */
const pem =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,40}-----)?/g;

/**
 * Matches the text before a value: `name=`, `name == b"`, `"name": "`, `name%3D`, `--name `, and
 * these forms with escaped quotes. The lengths of names and gaps are bounded, so that matching takes
 * linear time.
 */
const beforeValue =
  /(?:(?<!\w)(?<!\w-)|(?<=%[\dA-Fa-f]{2}))([A-Za-z_][\w-]{0,63})((?:\\{0,4}["']|%22|&quot;)?\s{0,4}(?:=>|:=|!?={1,3}|:|%3[AaDd])\s{0,4}|(?<=--[\w-]{1,64}) )((?:[BbFfRrUu]{0,2}\\{0,4}["'])|%22|&quot;)?/g;
const quotedValue = /[^"'\\\n]*/y;
const bareValue = /[^\s"'\\,;&<>(){}[\]|]*/y;

/**
 * Matches names after which `: ` may introduce prose, such as `key` and `token`. Text after `key=`
 * is never prose.
 */
const proseNames = /^(?:keys?|tokens?|auth)$/i;
/**
 * Matches values that are not secrets: numbers, references to other settings, special tokens, and
 * redacted values.
 */
const plainValue = /^(?:[\d.+-]+(?:e[+-]?\d+)?%?|true|false|null|none|undefined|[$<[].*|)$/i;

/** Returns true for a name such as `password`, whose value may be a number. */
export const isPasswordName = (name: string): boolean => /pass(?:word|wort|wd)$/i.test(name);

function redactAssignments(text: string, keepsCode: boolean): string {
  let result = '';
  let done = 0;
  for (const match of text.matchAll(beforeValue)) {
    const [head, name = '', link = '', quote = ''] = match;
    const at = match.index + head.length;
    if (match.index < done || !isSecretName(name)) continue;
    const pattern = quote === '' || quote.startsWith('%') ? bareValue : quotedValue;
    pattern.lastIndex = at;
    const value = pattern.exec(text)?.[0] ?? '';
    const isPin = isPasswordName(name) && /^\d{4,}$/.test(value);
    if ((plainValue.test(value) && !isPin) || (quote === '' && isProse(name, link, value)))
      continue;
    const next = text.slice(at + value.length, at + value.length + 2);
    const isCode = template.test(value) || (quote === '' && isExpression(name, link, value, next));
    if (keepsCode && isCode) continue;
    result += text.slice(done, at) + redacted;
    done = at + value.length;
  }
  return result + text.slice(done);
}

/**
 * Returns true if the text after `name: ` is prose, as in `api_key: expected a text`, or that after
 * `name =>` the body of a function; false if it is a value, as in `api_key: 4f0c2a91`.
 */
const isProse = (name: string, link: string, value: string): boolean =>
  link.includes('>') ||
  (link.startsWith(': ') && (proseNames.test(name) || value.length < 6 || !/[\d_+/=]/.test(value)));

/** Matches templates without a secret, such as `{password}`, `{0}` and `Bearer {self.token}`. */
const template = /^(?:(?:Bearer|Basic) )?\$?\{(?:[A-Za-z_.]*|\d)\}$/;

/**
 * Returns true if program code, and not a secret, follows `name =`: a variable or member of the same
 * name, such as `process.env.API_KEY`; a call or an index; an operand of `==`. Any other word may be
 * a password.
 * @param next the two characters after the value
 */
function isExpression(name: string, link: string, value: string, next: string): boolean {
  // The bound keeps the time linear, because both repetitions match dots.
  if (value.length > 100 || !/^[A-Za-z_$][A-Za-z_$.]*\W*$/.test(value)) return false;
  if (/[!=]=/.test(link) || /^(?:await|lambda|new)$/.test(value)) return true;
  const isLong = /[._]|[a-z][A-Z]/.test(value);
  if (isLong ? /^(?:\(|\[["'\d])/.test(next) : /^[([]["')]/.test(next)) return true;
  const isSame = lettersOf(value).endsWith(lettersOf(name)) || /^authorization$/i.test(name);
  return isSame && isSecretName(value);
}

const lettersOf = (name: string): string => name.replaceAll(/[^A-Za-z]/g, '').toLowerCase();

/**
 * Matches base64 that is long enough to encode a name and a value. Text longer than
 * `longestEncoded` is assumed to be an image, weights or other data.
 */
const encodedText = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
const longestEncoded = 20_000;

/** Redacts base64 text that contains a secret. */
function redactEncoded(encoded: string): string {
  if (encoded.length > longestEncoded) return encoded;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  return /^[\t\n\r\x20-\x7e]+$/.test(text) && redactShapes(text) !== text ? redacted : encoded;
}

/**
 * Returns true if a template follows `Bearer` or `Basic`, or a word of prose, unless the scheme is
 * part of a text in quotes or of the value of a secret name.
 * @param before the end of the text before the word, with `Bearer` or `Basic`
 */
function isHarmless(word: string, before: string): boolean {
  if (schemeTemplate.test(word)) return true;
  const [, name = '', link = ''] = /([\w-]*)(\W{0,8})\w+ $/.exec(before) ?? [];
  return proseWord.test(word) && !/["'`=\\]/.test(link) && !isSecretName(name);
}

const redactShapes = (text: string, keepsCode = false): string =>
  redactAssignments(
    text
      .replaceAll(pem, redacted)
      .replaceAll(/(:\/\/[^\s/:@]*:)[^\s/@]+@/g, `$1${redacted}@`)
      .replaceAll(/(:\/\/)[^\s/:@]{20,}@/g, `$1${redacted}@`)
      .replaceAll(keyLooks, (key: string, at: number, whole: string) =>
        keepsCode && isHarmless(key, whole.slice(Math.max(0, at - 40), at)) ? key : redacted,
      ),
    keepsCode,
  );

/**
 * Minimum number of characters in a known secret. A shorter value may be a common word, and
 * replacing it would garble texts.
 */
const shortestSecret = 8;
/**
 * Known secrets and their encoded forms. The longest come first, because one secret may be the
 * beginning of another.
 */
let known: readonly string[] = [];

/**
 * Makes {@link redactText} redact this value wherever it appears, plain or encoded. Intended for
 * keys in a configuration or the environment. Applies to the whole process, because any error of an
 * agent may contain a key. Ignores values of fewer than 8 characters.
 */
export function knowSecret(value: string): void {
  if (value.length < shortestSecret || known.includes(value)) return;
  const forms = [value, ...encodedForms(value)].filter((form) => form.length >= shortestSecret);
  known = [...new Set([...known, ...forms])].sort((a, b) => b.length - a.length);
}

/**
 * Returns the encoded forms of a value: URL, JSON, hexadecimal, and base64. Base64 has three forms,
 * one for each offset at which the value may begin in a group of three bytes.
 */
function encodedForms(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const bytes = Buffer.from(value);
  const base64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The characters at both ends also encode bits of the text next to the secret.
    const whole = text.slice(
      Math.ceil((before * 4) / 3),
      Math.floor(((before + bytes.length) * 4) / 3),
    );
    return [whole, whole.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const url = encodeURIComponent(value.toWellFormed());
  return [
    json,
    JSON.stringify(json).slice(1, -1),
    url,
    url.replaceAll('%20', '+'),
    bytes.toString('hex'),
    ...base64,
  ];
}

/** Calls {@link knowSecret} for each variable of an environment whose name is that of a secret. */
export function knowSecretsOf(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && isSecretName(name)) knowSecret(value);
}

/**
 * Returns the name of an environment variable for use in a message. A name that is not in capitals
 * is redacted, because a user may have pasted a key in place of the name.
 */
export const shownVariable = (name: string): string =>
  /^[A-Z_][A-Z0-9_]*$/.test(name) ? name : redacted;

/** Matches names of HTTP headers whose values are never secrets. */
const plainHeader = /^(?:accept|content|mcp)(?:-|$)|^(?:user-agent|origin|referer|host)$/i;

/**
 * Calls {@link knowSecret} for the values of HTTP headers, without a scheme such as `Bearer`.
 * Ignores headers that describe the content or the client.
 */
export function knowSecretHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers))
    if (!plainHeader.test(name)) knowSecret(value.replace(/^(?:Bearer|Basic|Token) +/i, ''));
}

/**
 * Redacts all known secrets, private keys, the password in `scheme://user:password@host`, text that
 * looks like a key, and values after names such as `api_key`. Finds them in base64 too. Runs in
 * linear time.
 * @param keepsCode true to keep values that look like expressions of program code or words, at the
 * risk that one is a secret
 */
export function redactText(text: string, keepsCode = false): string {
  const plain = known.reduce((rest, secret) => rest.replaceAll(secret, redacted), text);
  return redactShapes(plain, keepsCode).replaceAll(encodedText, redactEncoded);
}

/**
 * Returns the message of an error without secrets. Includes the causes, unless the error is one
 * that the user must fix: its message then says how.
 */
export const failureText = (error: unknown): string =>
  redactText(
    error instanceof ConfigError || error instanceof TaskError
      ? error.message
      : describeError(error),
  );
