/** The scripted conversations, their expected results, and frameworks' deviations from them. */
import { EngineError } from '@trinity-rft/core';

/** The observable result of a conversation. */
export interface Expected {
  /** Expected outcome of the agent's promise: `answer` if it resolves, `error` if it rejects. */
  readonly ends: 'answer' | 'error';
  /** Text of the agent's answer, if there is one. */
  readonly text?: string;
  /** Inputs of the tool calls, in order. */
  readonly executed: readonly unknown[];
  /** Number of recorded model calls. */
  readonly recorded: number;
  /** Number of calls that do not continue recorded tokens, by reason. */
  readonly forks: Readonly<Record<string, number>>;
}

/**
 * Known deviation of a framework from the expected results. The tests also assert the deviation.
 */
export interface Deviation {
  /** Name of the conversation, which is a key of `conversations`. */
  readonly conversation: ConversationName;
  /** Mode in which the framework deviates. @default both modes */
  readonly mode?: AgentMode;
  /** The reason, which becomes part of the test's name. */
  readonly because: string;
  readonly expected: Partial<Expected>;
}

interface Conversation {
  /** Outputs of the model, one per turn. The sampler throws a reply that is an Error. */
  readonly replies: readonly (string | Error)[];
  readonly expected: Partial<Expected>;
}

export const toolResult = (city: string): string => `12 degrees in ${city}`;

/** A tool call as models write it; `input` is the JSON of the arguments. */
const call = (input: string, name = 'weather'): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${input}}\n</tool_call>`;

const oslo = call('{"city": "Oslo"}');
const bothCities = [{ city: 'Oslo' }, { city: 'Rome' }];

/**
 * Scripts by name. By default, the last reply is the expected answer, every reply is recorded, and
 * no call forks.
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

/**
 * Returns the expected result of a conversation, changed by the framework's deviations, and the
 * reasons of those deviations.
 */
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
    text: typeof last === 'string' ? last : undefined,
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

export type AgentMode = 'whole' | 'streamed';
