/** Model outputs, and how our parsers and vLLM's parsers read them. */
import { readFileSync } from 'node:fs';
import type { ToolDefinition } from '@trinity-rft/core';
import { reasoningParsers } from '../src/reasoning-parser/table.js';
import { promptEnd } from '../src/reasoning-parser/think-block.js';
import { toolCallParsers } from '../src/tool-call-parser/table.js';

export interface VllmCase {
  /** Name of vLLM's parser. */
  readonly parser: string;
  readonly reasoning?: keyof typeof reasoningParsers;
  /** Last part of the prompt. */
  readonly prompt?: string;
  readonly text: string;
  /** Reason why our parser reads the text differently. */
  readonly differs?: string;
}

export interface ReadText {
  readonly reasoning: string | null;
  readonly content: string;
  readonly calls: readonly (readonly [name: string, args: unknown])[];
}

/** Results of vLLM. */
export interface VllmRead {
  readonly whole: ReadText;
  readonly streamed: ReadText;
}

const folder = new URL('./fixtures/vllm/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));

export const recorded = new URL('read.json', folder);
export const vllmCases = read('cases.json') as readonly VllmCase[];
export const readByVllm = (): readonly VllmRead[] => read('read.json') as readonly VllmRead[];

const properties = {
  s: { type: 'string' },
  t: { type: 'string' },
  n: { type: 'integer' },
  x: { type: 'number' },
  b: { type: 'boolean' },
  z: { type: 'null' },
  l: { type: 'array' },
  o: { type: 'object' },
};

export const vllmTools: readonly ToolDefinition[] = ['f', 'g', 'a.b.f', 'get-weather'].map(
  (name) => ({ type: 'function', function: { name, parameters: { type: 'object', properties } } }),
);

/** Our parser for the same syntax as vLLM's parser `name`. */
const oursFor = (name: string): keyof typeof toolCallParsers =>
  name === 'granite4' ? 'hermes' : (name as keyof typeof toolCallParsers);

/** Special tokens of all syntaxes. */
export const markers = [
  ...Object.values(toolCallParsers).flatMap((parser) => [
    ...parser.markers.filter((mark) => /^[<[].*[>\]]$/.test(mark)),
    ...(parser.stops ?? []),
  ]),
  ...Object.values(reasoningParsers).flatMap((parser) => parser.markers),
];

export function readByUs({ parser, reasoning, prompt = '', text }: VllmCase): ReadText {
  const thinker = reasoning && reasoningParsers[reasoning];
  const thought = thinker?.parse(text, promptEnd(prompt, thinker.markers));
  const turn = toolCallParsers[oursFor(parser)].parse(thought?.text ?? text, { tools: vllmTools });
  return {
    reasoning: thought?.reasoning ?? null,
    content: turn.text,
    calls: turn.toolCalls.map((call) => [call.name, JSON.parse(call.arguments)]),
  };
}

/** A reading without the white space around text and reasoning, which may differ. */
export const trimmed = ({ reasoning, content, calls }: ReadText): ReadText => ({
  reasoning: reasoning?.trim() ?? null,
  content: content.trim(),
  calls,
});
