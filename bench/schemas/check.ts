/** Checks enforced answers to schemas with another validator. */
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { ModelError, type Random } from '../../packages/core/src/index.ts';
import type { TextGrammar } from '../../packages/core/src/engine-seam.ts';
import { responseGrammar } from '../../packages/chat/src/constraint/response-grammar.ts';
import { createAutomaton } from '../../packages/engine-onnx/src/sample/constraint/automaton.ts';
import { createTexts } from './texts.ts';

export type Document = Readonly<Record<string, unknown>>;

/** The grammar of a schema, or the reason why there is none. */
export type Enforced = { readonly grammar: TextGrammar } | { readonly refusal: string };

export function enforce(schema: Document): Enforced {
  try {
    const grammar = responseGrammar(
      { json: { type: 'json_schema', schema, param: 'schema' } },
      { reasoning: 'none', call: undefined, controlTokens: new Map() },
    );
    return { grammar: grammar! };
  } catch (error) {
    if (!(error instanceof ModelError) || error.status !== 400) throw error;
    return { refusal: error.message };
  }
}

/** The validator of a document; undefined if the validator cannot read the document. */
export function validatorOf(schema: Document): ((value: unknown) => boolean) | undefined {
  const isOld = /"items":\[|"additionalItems"|"dependencies"|draft-07/.test(JSON.stringify(schema));
  const options = { strict: false, ownProperties: true, logger: false } as const;
  const ajv = isOld ? new Ajv(options) : new Ajv2020(options);
  formats.default(ajv as Ajv);
  try {
    const validate = ajv.compile(schema);
    return (value) => validate(value);
  } catch {
    return undefined;
  }
}

export interface Judged {
  readonly refusal?: string;
  /** True if the validator cannot read the schema. */
  readonly isUnjudged?: boolean;
  readonly answers: number;
  /** Answers of the grammar that are not JSON, or not valid. */
  readonly wrong: readonly string[];
  /** Valid values in the form of an answer that the grammar does not allow. */
  readonly missing: readonly string[];
  /** Number of tried answers behind {@link missing}. */
  readonly tried: number;
}

/** Draws answers, and modifies them to find valid answers that the grammar lacks. */
export function judge(schema: Document, random: Random, count: number): Judged {
  const none = { answers: 0, wrong: [], missing: [], tried: 0 };
  const enforced = enforce(schema);
  if ('refusal' in enforced) return { ...none, refusal: enforced.refusal };
  const isValid = validatorOf(schema);
  if (!isValid) return { ...none, isUnjudged: true };
  const accepts = acceptor(enforced.grammar);
  const draw = createTexts(enforced.grammar);
  const wrong: string[] = [];
  const missing: string[] = [];
  let tried = 0;
  for (let i = 0; i < count; i++) {
    const text = draw(random);
    const value = parsed(text);
    if (!accepts(text) || value === undefined || !isValid(value)) wrong.push(text);
    else
      for (const changed of changes(value, random).map((each) => JSON.stringify(each))) {
        if (!isValid(JSON.parse(changed))) continue;
        tried++;
        if (!accepts(changed)) missing.push(changed);
      }
  }
  return { answers: count, wrong, missing, tried };
}

function acceptor({ rules }: TextGrammar): (text: string) => boolean {
  const automaton = createAutomaton({ rules });
  return (text) => {
    let state = automaton.start;
    for (const byte of Buffer.from(text)) if (state >= 0) state = automaton.next(state, byte);
    return state >= 0 && automaton.accepts(state);
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const scalars = [
  null,
  true,
  false,
  0,
  1,
  -1,
  7,
  12,
  0.5,
  -2.5,
  999,
  '',
  'a',
  'b',
  'ab',
  'x1',
  'none',
  'é',
  '😀',
  'A\n',
  'AB-123',
];

/** The value as a program prints it, and variants with one part replaced or omitted. */
function changes(value: unknown, random: Random): readonly unknown[] {
  if (typeof value === 'number' && !/^-?\d{1,9}(\.\d{1,5})?$/.test(JSON.stringify(value)))
    return [];
  const scalar = scalars[random.integer(scalars.length)];
  if (Array.isArray(value)) {
    const at = random.integer(Math.max(value.length, 1));
    const inside = value.length > 0 ? changes(value[at], random) : [];
    return [value, value.slice(0, -1), ...inside.map((each) => value.with(at, each))];
  }
  if (typeof value !== 'object' || value === null) return [value, scalar];
  const entries = Object.entries(value);
  const at = random.integer(Math.max(entries.length, 1));
  const [name] = entries[at] ?? [];
  if (name === undefined) return [value];
  return [
    value,
    Object.fromEntries(entries.toSpliced(at, 1)),
    ...changes(entries[at]![1], random).map((each) => ({ ...value, [name]: each })),
  ];
}
