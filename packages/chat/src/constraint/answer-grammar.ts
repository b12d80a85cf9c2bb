/**
 * What an answer may be, where its form is asked for: reasoning if the model writes it, then a JSON
 * value or calls of functions.
 */
import { ModelError, type TextGrammar, type ToolDefinition } from '@trinity-rft/core';
import { createGrammar, literal, textUpTo, type Sequence } from './grammar.js';
import { schemaRule, type JsonSchema } from './json-schema.js';
import { anyObject, anyValue, space } from './json-value.js';

export interface AnswerForm {
  /** Of the answer as text. @default none is asked for: only calls are forced */
  readonly answer?: {
    readonly type: 'json_object' | 'json_schema';
    readonly schema?: JsonSchema;
    /** Field of the request, for errors. */
    readonly param: string;
  };
  /**
   * `required`: one or more calls; a name: one call of that function; `auto`: calls or the answer.
   * @default "none"
   */
  readonly calls?: 'none' | 'auto' | 'required' | { readonly name: string };
  readonly tools?: readonly ToolDefinition[];
}

/** How a model writes, as far as a grammar needs it. */
export interface WritingStyle {
  /** `open`: the prompt ends within it; `may`: the answer may begin with it. */
  readonly reasoning: 'none' | 'may' | 'open';
  /** Around the JSON of a call; nothing where calls cannot be read. */
  readonly call: { readonly open: string; readonly close: string } | undefined;
  readonly excludedTokenIds: readonly number[];
}

/**
 * Nothing where the form leaves everything open.
 * @throws ModelError 400 naming what of a schema cannot be followed, or that calls cannot be read
 */
export function answerGrammar(
  { answer, calls = 'none', tools = [] }: AnswerForm,
  style: WritingStyle,
): TextGrammar | undefined {
  const grammar = createGrammar();
  const gap = space(grammar);
  const forced =
    typeof calls === 'object' ? tools.filter((tool) => tool.function.name === calls.name) : tools;
  if (calls !== 'none' && calls !== 'auto' && style.call === undefined) throw unreadableCalls();
  const callable = calls === 'none' || style.call === undefined ? [] : forced;
  const alternatives: Sequence[] = [];
  if (answer && (calls === 'auto' || callable.length === 0)) alternatives.push([valueRule()]);
  if (callable.length > 0) alternatives.push([callsRule(style.call!)]);
  if (alternatives.length === 0 || (!answer && calls === 'auto')) return undefined;
  const thought = [textUpTo(grammar, '</think>'), gap, gap];
  const begun = alternatives.map((alternative) => [...thought, ...alternative]);
  const whole = {
    none: alternatives,
    may: [...alternatives, ...begun.map((rest) => [...literal('<think>'), ...rest])],
    open: begun,
  };
  grammar.define(0, whole[style.reasoning]);
  return { rules: grammar.rules, excludedTokenIds: style.excludedTokenIds };

  function valueRule(): number {
    const { type, schema, param } = answer!;
    if (schema) return schemaRule(grammar, schema, param);
    return type === 'json_object' ? anyObject(grammar) : anyValue(grammar);
  }

  function callsRule({ open, close }: NonNullable<WritingStyle['call']>): number {
    const bodies = callable.map((tool): Sequence => {
      const { name, parameters } = tool.function;
      const body = parameters
        ? schemaRule(grammar, parameters, `tools.${name}.parameters`)
        : anyObject(grammar);
      return [...literal(`{"name": ${JSON.stringify(name)}, "arguments": `), body, ...literal('}')];
    });
    const one = grammar.rule(
      bodies.map((body) => [...literal(`${open}\n`), ...body, ...literal(`\n${close}`)]),
    );
    if (typeof calls === 'object') return one;
    const rule = grammar.declare();
    const more = grammar.rule([[], [...literal('\n'), rule]]);
    grammar.define(rule, [[one, more]]);
    return rule;
  }
}

function unreadableCalls(): ModelError {
  return new ModelError(
    'tool_choice forces a call, but how this model writes calls is not known. Set tool_call_parser: hermes.',
    {
      status: 400,
      code: 'invalid_request',
      details: { param: 'tool_choice' },
    },
  );
}
