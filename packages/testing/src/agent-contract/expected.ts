/**
 * Scripted conversations with their expected results, and the deviations of frameworks from these
 * results.
 */
import { EngineError } from '@trinity-rft/core';

/** Result of a conversation, as far as a test can observe it. */
export interface Expected {
  /** Outcome of the agent's promise: `answer` if it resolves, `error` if it rejects. */
  readonly ends: 'answer' | 'error';
  /** Text of the agent's answer; undefined if there is none. */
  readonly text?: string;
  /** Arguments of the tool calls that were executed, in order. */
  readonly executed: readonly unknown[];
  /** Number of model calls that were recorded. */
  readonly recorded: number;
  /** Number of model calls whose prompt does not continue recorded tokens, keyed by reason. */
  readonly forks: Readonly<Record<string, number>>;
}

/**
 * Known deviation of a framework from the expected result of a conversation. The tests check that
 * it still occurs.
 */
export interface Deviation {
  /** Name of the conversation, which is a key of `conversations`. */
  readonly conversation: ConversationName;
  /** Mode in which the framework deviates. @default undefined: both modes */
  readonly mode?: AgentMode;
  /** Reason for the deviation, which is shown in the test's name. */
  readonly because: string;
  readonly expected: Partial<Expected>;
}

interface Conversation {
  /** Outputs of the model, one per turn. If an output is an Error, the sampler throws it. */
  readonly replies: readonly (string | Error)[];
  readonly expected: Partial<Expected>;
}

export const toolResult = (city: string): string => `12 degrees in ${city}`;

/**
 * Returns a tool call in the format in which models write it. `input` is the JSON of its arguments.
 */
const call = (input: string, name = 'weather'): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${input}}\n</tool_call>`;

const oslo = call('{"city": "Oslo"}');
const bothCities = [{ city: 'Oslo' }, { city: 'Rome' }];

/**
 * Conversations, keyed by name. Unless `expected` says otherwise, the last reply is the agent's
 * answer, every reply is recorded, and no call forks.
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
 * Returns the expected result of a conversation, with the framework's deviations applied, and the
 * reasons for these deviations.
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
