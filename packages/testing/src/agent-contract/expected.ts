/**
 * What a scripted conversation is expected to leave behind, and how a framework may deviate from
 * it.
 */
import { EngineError } from '@trinity-rft/core';
import type { AgentMode } from './fixture.js';

/** What can be seen of a conversation after it. */
export interface Expected {
  /** How the agent's promise settles. */
  readonly ends: 'answer' | 'error';
  /** The agent's text, where it answers. */
  readonly text?: string;
  /** Inputs with which the tool ran, in order. */
  readonly executed: readonly unknown[];
  /** How many calls of the model are recorded. */
  readonly recorded: number;
  /** Calls that do not continue recorded tokens, by reason; all others do. */
  readonly forks: Readonly<Record<string, number>>;
}

/**
 * A known difference of a framework: what holds instead of the expectation. It fails once the
 * framework behaves as expected.
 */
export interface Deviation {
  /** Name in {@link conversations}. */
  readonly conversation: ConversationName;
  /** @default both */
  readonly mode?: AgentMode;
  /** What the framework does; part of the test's name. */
  readonly because: string;
  readonly expected: Partial<Expected>;
}

interface Conversation {
  /** What the model says, turn by turn; an error is thrown by the sampler. */
  readonly replies: readonly (string | Error)[];
  readonly expected: Partial<Expected>;
}

export const toolResult = (city: string): string => `12 degrees in ${city}`;

/** A call as models write it. `input` is the text of the arguments. */
const call = (input: string, name = 'weather'): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${input}}\n</tool_call>`;

const oslo = call('{"city": "Oslo"}');
const bothCities = [{ city: 'Oslo' }, { city: 'Rome' }];

/**
 * Scripts by name. What `expected` leaves out: it ends with an answer that is the last reply, every
 * reply is recorded, and nothing forks.
 */
export const conversations = {
  'one turn': { replies: ['Mild.'], expected: {} },
  'a tool loop of three turns': {
    replies: [`I look.\n${oslo}`, call('{"city": "Rome"}'), 'Both mild.'],
    expected: { executed: bothCities },
  },
  'two tool calls in one turn': {
    replies: [`${oslo}\n${call('{"city": "Rome"}')}`, 'Both mild.'],
    expected: { executed: bothCities },
  },
  'arguments in odd JSON': {
    replies: [
      '<tool_call>{"arguments":{ "days" :2.0,\n "city":"Oslo"} ,"name":"weather"}</tool_call>',
      call('{"city":"R\\u006fme\\/","days":1e0}'),
      'Both mild.',
    ],
    expected: {
      executed: [
        { city: 'Oslo', days: 2 },
        { city: 'Rome/', days: 1 },
      ],
    },
  },
  'white space around text and calls': {
    replies: [` \n so \n\n${oslo} `, ' \nMild. \n'],
    expected: { executed: [{ city: 'Oslo' }] },
  },
  'the same text in two turns': {
    replies: [`Next.\n${oslo}`, `Next.\n${call('{"city": "Rome"}')}`, 'Both mild.'],
    expected: { executed: bothCities },
  },
  'reasoning before a call': {
    replies: [`<think>\nwhere\n</think>\n\n${oslo}`, '<think>\nso\n</think>\n\nMild.'],
    expected: { text: 'Mild.', executed: [{ city: 'Oslo' }] },
  },
  'a call that is no JSON': {
    replies: ['<tool_call>{"name": "weather", "arguments": {"city": }</tool_call>'],
    expected: {},
  },
  'arguments of a wrong type': { replies: [call('{"city": 7}'), 'Sorry.'], expected: {} },
  'a tool that does not exist': {
    replies: [call('{"city": "Oslo"}', 'forecast'), 'Sorry.'],
    expected: {},
  },
  'an error of the engine': {
    replies: [new EngineError('The engine is down.'), 'Mild.'],
    expected: { ends: 'error', recorded: 0 },
  },
  'an error of the engine in the second turn': {
    replies: [oslo, new EngineError('The engine is down.'), 'Mild.'],
    expected: { ends: 'error', executed: [{ city: 'Oslo' }], recorded: 1 },
  },
} as const satisfies Readonly<Record<string, Conversation>>;

export type ConversationName = keyof typeof conversations;

/** The whole expectation for a framework, its deviations applied. */
export function expectationOf(
  name: ConversationName,
  mode: AgentMode,
  deviations: readonly Deviation[] = [],
): { readonly expected: Expected; readonly because: readonly string[] } {
  const { replies, expected }: Conversation = conversations[name];
  const last = replies.at(-1);
  const usual: Expected = {
    ends: 'answer',
    executed: [],
    recorded: replies.filter((reply) => typeof reply === 'string').length,
    forks: {},
    ...(typeof last === 'string' && { text: last }),
    ...expected,
  };
  const known = deviations.filter(
    (each) => each.conversation === name && (each.mode ?? mode) === mode,
  );
  return {
    expected: Object.assign({}, usual, ...known.map((each) => each.expected)) as Expected,
    because: known.map((each) => each.because),
  };
}
