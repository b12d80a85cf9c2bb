/**
 * Checks that an endpoint supports all fields of a request. With `strictFields`, unsupported fields
 * are rejected, as OpenAI's servers do, because a setting that would change the response must not
 * be ignored silently.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { isObject, isPresent, type JsonObject, type UnsupportedField } from './fields.js';

/**
 * Fields that identify the caller or help a server to save work, and `verbosity`, which clients set
 * by themselves for some names of models. They do not change the response.
 */
const withoutEffect = [
  'metadata',
  'model',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'store',
  'user',
  'verbosity',
];

/** Fields that are accepted only with the value that has no effect. */
const neutral: readonly UnsupportedField[] = [
  ['presence_penalty', (value) => value !== 0, '0: the sampler has no penalties'],
  ['frequency_penalty', (value) => value !== 0, '0: the sampler has no penalties'],
  ['repetition_penalty', (value) => value !== 1, '1: the sampler has no penalties'],
  ['min_p', (value) => value !== 0, '0; use top_p or top_k'],
  [
    'logit_bias',
    (value) => !isObject(value) || Object.values(value).some((bias) => bias !== 0),
    'no biases other than 0',
  ],
  ['truncation', (value) => value !== 'disabled', 'disabled: the client shortens its prompt'],
];

/**
 * Checks the fields of a request, if `strictFields` is true.
 * @param used fields of the protocol that are used or rejected elsewhere
 * @param prefix prefix of field names in errors, such as `text.`
 * @throws ModelError 400 for the first field that would be ignored
 */
export function checkFields(
  body: JsonObject,
  used: ReadonlySet<string>,
  { strictFields = false }: { readonly strictFields?: boolean },
  prefix = '',
): void {
  if (!strictFields) return;
  for (const [field, value] of Object.entries(body)) {
    if (!isPresent(value) || used.has(field) || withoutEffect.includes(field)) continue;
    const rule = neutral.find(([name]) => name === field);
    if (!rule)
      throw invalidRequest(
        prefix + quote(field).slice(1, -1),
        'is not a field that this endpoint knows',
        `one of ${[...used].toSorted().join(', ')}`,
      );
    const [, changesAnswer, expected] = rule;
    if (changesAnswer(value))
      throw invalidRequest(prefix + field, `is ${quote(value)}, which is not supported`, expected);
  }
}
