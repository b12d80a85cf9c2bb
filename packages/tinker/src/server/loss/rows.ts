/** Converts the datums of a request to token rows that an engine scores. */
import type { TokenRow } from '@trinity-rft/core/engine';
import type { Datum } from '../../protocol/index.js';
import { Refusal } from '../refusals/refusal.js';
import { lossFunctions, type LossFunction } from './losses.js';

/** One datum as a token row, and the loss inputs of its targets. */
export interface LossRow {
  /**
   * Input tokens of the datum, followed by its last target. All tokens except the first are
   * targets.
   */
  readonly row: TokenRow;
  /** Loss inputs, keyed by name. [T] each */
  readonly inputs: Readonly<Record<string, Float32Array>>;
}

/**
 * Converts the datums of a request to rows.
 * @throws Refusal 422 if there are no datums, or a datum does not fit the loss
 */
export function lossRows(
  data: readonly Datum[],
  loss: LossFunction,
  forwardOnly: boolean,
): readonly LossRow[] {
  if (data.length === 0) throw new Refusal(422, 'data is empty. Expected at least one datum.');
  return data.map((datum, i) => lossRow(datum, loss, { place: `data[${i}]`, forwardOnly }));
}

interface Place {
  readonly place: string;
  /** True if only log-probabilities are requested. Loss inputs may then be missing. */
  readonly forwardOnly: boolean;
}

function lossRow(datum: Datum, loss: LossFunction, { place, forwardOnly }: Place): LossRow {
  const { tokens } = datum;
  if (tokens.length === 0) throw new Refusal(422, `${place}.model_input has no tokens.`);
  const unknown = Object.keys(datum.inputs).find((name) => !inputNames.has(name));
  if (unknown !== undefined)
    throw new Refusal(
      422,
      `${place}.loss_fn_inputs.${unknown} is not known. Expected some of ${[...inputNames].join(', ')}.`,
    );
  const given = loss.inputs.filter((name) => !forwardOnly || Object.hasOwn(datum.inputs, name));
  const inputs = Object.fromEntries(given.map((name) => [name, numbers(datum, name, place)]));
  const targets = ids(datum, place);
  assertNextTokens(tokens, targets, inputs, { place, allCount: loss.trainsAll });
  const text = Int32Array.from([...tokens, targets.at(-1) ?? 0]);
  return { row: { tokens: text, promptLength: 1, temperature: 1 }, inputs };
}

const inputNames = new Set([
  'target_tokens',
  ...Object.values(lossFunctions).flatMap(({ inputs }) => inputs),
]);

function ids({ inputs, tokens }: Datum, place: string): Int32Array {
  const values = inputs['target_tokens'];
  const name = `${place}.loss_fn_inputs.target_tokens`;
  if (!(values instanceof Int32Array)) throw new Refusal(422, `${name} is missing, or not int64.`);
  assertLength(values, tokens, name);
  return values;
}

function numbers({ inputs, tokens }: Datum, input: string, place: string): Float32Array {
  const values = inputs[input];
  const name = `${place}.loss_fn_inputs.${input}`;
  if (values === undefined)
    throw new Refusal(422, `${name} is missing. Send a float32 for every target token.`);
  assertLength(values, tokens, name);
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0)
    throw new Refusal(422, `${name}[${wrong}] is ${values[wrong]}. Expected a finite number.`);
  return Float32Array.from(values);
}

function assertLength(values: { readonly length: number }, tokens: Int32Array, name: string): void {
  if (values.length === tokens.length) return;
  throw new Refusal(
    422,
    `${name} has ${values.length} numbers for ${tokens.length} tokens of model_input. Expected one for each.`,
  );
}

/**
 * Checks that each target that counts is the next input token, because the engine cannot score
 * other targets. If `allCount` is not set, a target counts if its weight, advantage or
 * `sequence_ratio_mask` is not 0; the log-probability returned for another target is that of the
 * next token.
 */
function assertNextTokens(
  tokens: Int32Array,
  targets: Int32Array,
  inputs: Readonly<Record<string, Float32Array>>,
  { place, allCount = false }: { readonly place: string; readonly allCount?: boolean },
): void {
  const { weights, advantages, sequence_ratio_mask: mask } = inputs;
  const counts = (i: number): boolean =>
    allCount || ((weights ?? advantages)?.[i] ?? 1) !== 0 || (mask?.[i] ?? 0) !== 0;
  const wrong = tokens.findIndex((_, i) => i > 0 && targets[i - 1] !== tokens[i] && counts(i - 1));
  if (wrong < 0) return;
  throw new Refusal(
    422,
    `${place}: target_tokens[${wrong - 1}] is ${targets[wrong - 1]}, but the next token of the text is ${tokens[wrong]}. This server scores text: send the tokens that follow${allCount ? '' : `, or 0 as their weight or advantage${mask ? ' and sequence_ratio_mask' : ''}`}.`,
  );
}
