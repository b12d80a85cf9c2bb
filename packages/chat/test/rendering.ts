/** Conversations rendered by our templates, for comparison with transformers' renderings. */
import { readFileSync } from 'node:fs';
import type { ToolDefinition } from '@trinity-rft/core';
import { normalizeMessages } from '../src/messages/messages.js';
import { memberSpans } from '../src/tool-call-parser/json-span.js';
import { createChatTemplate, type ChatTemplate } from '../src/template/template.js';

export interface Conversation {
  readonly name: string;
  readonly messages: readonly unknown[];
  /** Tools as JSON texts. */
  readonly tools: readonly string[] | null;
  readonly kwargs: { readonly enable_thinking?: boolean };
  readonly add: boolean;
}

/** Rendered text by conversation; null if the template fails. */
export type Rendered = Readonly<Record<string, string | null>>;

export const folder = new URL('./fixtures/templates/', import.meta.url);

export const fixture = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

export const conversations = JSON.parse(fixture('conversations.json')) as readonly Conversation[];

export const fixtureNames = [
  ...['qwen2.5', 'qwen3', 'qwen3-coder', 'qwen3.5', 'granite-4.1', 'ministral-3'],
  ...['mistral-nemo', 'smollm3'],
] as const;

export const specialTokens = {
  bos_token: '<s>',
  eos_token: '</s>',
  pad_token: '<pad>',
  unk_token: '<unk>',
};

/** Date that `oracle/render.py` uses. */
const now = new Date(2026, 0, 2, 15, 4, 5);

export function renderAll(source: string): Rendered {
  const template = createChatTemplate(source, specialTokens, now);
  return Object.fromEntries(conversations.map((each) => [each.name, render(template, each)]));
}

function render(template: ChatTemplate, conversation: Conversation): string | null {
  const { messages, tools, kwargs, add } = conversation;
  try {
    return template.render({
      messages: normalizeMessages(messages),
      tools: tools?.map(toolOf),
      addGenerationPrompt: add,
      enableThinking: kwargs.enable_thinking,
    });
  } catch {
    return null;
  }
}

function toolOf(source: string): ToolDefinition {
  const tool = JSON.parse(source) as ToolDefinition;
  const [start] = memberSpans(source, 0).get('function') ?? [0];
  const span = memberSpans(source, start).get('parameters');
  return { ...tool, parametersSource: span && source.slice(...span) };
}
