/**
 * The grammar of a constrained response: optional reasoning, then a JSON value or function calls.
 */
import type { ToolDefinition } from '@trinity-rft/core';
import type { TextGrammar } from '@trinity-rft/core/engine';
import { invalidRequest } from '../messages/invalid-request.js';
import {
  createGrammar,
  productive,
  textUpTo,
  type GrammarBuilder,
  type Sequence,
} from './grammar/grammar.js';
import { createBudget, schemaRule } from './schema/schema-rule.js';
import type { JsonSchema } from './schema/types.js';
import { anyObject, anyValue, space } from './grammar/json-value.js';
import type { CallSyntax } from '../tool-call-parser/types.js';

/** Constraint of a request on its response: JSON content, tool calls, or either. */
export interface ResponseConstraint {
  /** Required JSON format of the response's text. @default no constraint on the text */
  readonly json?: {
    readonly type: 'json_object' | 'json_schema';
    readonly schema?: JsonSchema;
    /** Name of the request's field that sets this format, for error messages. */
    readonly param: string;
  };
  /**
   * `required` means one or more calls; a name means one call of that function; `auto` means calls,
   * or a text that conforms to `json`.
   * @default "none"
   */
  readonly calls?: 'none' | 'auto' | 'required' | { readonly name: string };
  readonly tools?: readonly ToolDefinition[];
}

/** Properties of a model's output on which a grammar depends. */
export interface WritingStyle {
  /**
   * `open` if the prompt ends inside reasoning; `may` if the response may begin with reasoning;
   * `none` if neither is the case.
   */
  readonly reasoning: 'none' | 'may' | 'open';
  /** Markers around reasoning. @default `<think>` and `</think>` */
  readonly thinkMarkers?: readonly [open: string, close: string];
  /** Syntax of tool calls; undefined if tool calls cannot be parsed or cannot be forced. */
  readonly call: CallSyntax | undefined;
  /**
   * Ids of the control tokens, keyed by their text. Grammar rules for plain text do not match these
   * tokens.
   */
  readonly controlTokens: ReadonlyMap<string, number>;
}

/**
 * Returns the grammar of a constraint, or undefined if every response satisfies the constraint.
 * @throws ModelError 400 naming the unsupported part of a schema, or when calls cannot be parsed
 */
export function responseGrammar(
  { json, calls = 'none', tools = [] }: ResponseConstraint,
  { reasoning, thinkMarkers = ['<think>', '</think>'], call, controlTokens }: WritingStyle,
): TextGrammar | undefined {
  const isForced = calls !== 'none' && calls !== 'auto';
  if (!call && (isForced || (calls === 'auto' && json && tools.length > 0))) {
    throw invalidRequest(
      'tool_choice',
      isForced
        ? 'forces a call, but the syntax in which this model writes calls is unknown or not JSON'
        : `is auto beside ${json?.param}, but the syntax in which this model writes calls is unknown or not JSON, so that it could never call`,
      `tool_call_parser hermes, llama3_json or mistral in the configuration or chat settings of the model${isForced ? '' : ', or tool_choice none'}`,
    );
  }
  const builder = createBuilder(json?.param ?? 'tools', controlTokens);
  const { grammar } = builder;
  const gap = space(grammar);
  const callable =
    typeof calls === 'object' ? tools.filter((tool) => tool.function.name === calls.name) : tools;
  const syntax = calls === 'none' || callable.length === 0 ? undefined : call;
  if (!json && (calls === 'auto' || !syntax)) return undefined;
  const responses: Sequence[] = [];
  if (json && (calls === 'auto' || !syntax)) responses.push([jsonRule(builder, json)]);
  if (syntax) {
    const one = callRule(builder, callable, syntax);
    responses.push(callsRule(grammar, one, syntax, typeof calls === 'object'));
  }
  const [open, close] = thinkMarkers;
  const thought = [textUpTo(grammar, close), gap, gap];
  const afterThought = responses.map((response) => [...thought, ...response]);
  const alternatives = {
    none: responses,
    may: [...responses, ...afterThought.map((rest) => [...grammar.marked(open), ...rest])],
    open: afterThought,
  };
  grammar.define(0, alternatives[reasoning]);
  return { rules: builder.productive(), controlTokenIds: [...controlTokens.values()] };
}

interface Builder {
  readonly grammar: GrammarBuilder;
  readonly schema: (schema: JsonSchema, path: string, type?: 'object') => number;
  /**
   * Returns the rules without the alternatives that match no finite string.
   * @throws ModelError 400 naming a schema that no value satisfies
   */
  readonly productive: () => TextGrammar['rules'];
}

function createBuilder(param: string, controlTokens: WritingStyle['controlTokens']): Builder {
  const spend = createBudget(param);
  const grammar = createGrammar(spend, [...controlTokens.keys()]);
  const schemas: (readonly [rule: number, path: string])[] = [];
  return {
    grammar,
    schema: (schema, path, type) => {
      const rule = schemaRule(grammar, schema, path, spend, type);
      schemas.push([rule, path]);
      return rule;
    },
    productive: () => {
      const rules = productive(grammar.rules);
      const [, path] = schemas.find(([rule]) => rules[rule]!.length === 0) ?? [];
      if (path === undefined) return rules;
      throw invalidRequest(
        path,
        'allows no value that ends and can be enforced',
        'demands that do not contradict each other, numbers of at most 15 digits, and minProperties of at most one more than the listed properties',
      );
    },
  };
}

function jsonRule(
  { grammar, schema: rule }: Builder,
  { type, schema, param }: NonNullable<ResponseConstraint['json']>,
): number {
  if (schema) return rule(schema, param);
  return type === 'json_object' ? anyObject(grammar) : anyValue(grammar);
}

/** Returns the rule for one call of any of the tools. */
function callRule(
  { grammar, schema }: Builder,
  tools: readonly ToolDefinition[],
  { before, after }: CallSyntax,
): number {
  const alternatives = tools.map((tool): Sequence => {
    const { name, parameters } = tool.function;
    const args = parameters
      ? schema(parameters, `tools.${name}.parameters`, 'object')
      : anyObject(grammar);
    return [...grammar.marked(before(name)), args, ...grammar.marked(after)];
  });
  return grammar.rule(alternatives);
}

function callsRule(
  grammar: GrammarBuilder,
  one: number,
  { open = '', between, close = '' }: CallSyntax,
  isSingle: boolean,
): Sequence {
  const calls = isSingle ? one : oneOrMore(grammar, one, between);
  return [...grammar.marked(open), calls, ...grammar.marked(close)];
}

function oneOrMore(grammar: GrammarBuilder, one: number, between: string): number {
  const rule = grammar.declare();
  const more = grammar.rule([[], [...grammar.marked(between), rule]]);
  grammar.define(rule, [[one, more]]);
  return rule;
}
