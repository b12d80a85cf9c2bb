/** Writes a response as stream events of Anthropic's Messages API. */
import { sealReasoning } from '../shared/sealed-reasoning.js';
import type { EventWriter, ServerEvent } from '../shared/answer/encodings.js';
import { gained } from '../shared/answer/live-answer.js';
import { errorBody } from './error-body.js';
import { newMessage, type Block, type MessageBody, type MessageHead } from './response.js';

type Step = { readonly type: string } & Readonly<Record<string, unknown>>;
type TextBlock = Exclude<Block, { type: 'tool_use' }>;

interface Open {
  readonly type: TextBlock['type'];
  readonly index: number;
  text: string;
}

/**
 * Creates a writer of stream events. Thinking and text are sent as deltas, one block after the
 * other. Tool calls are sent complete, at the end.
 */
export function eventWriter(head: MessageHead): EventWriter<{ readonly body: MessageBody }> {
  let begun = false;
  let blocks = 0;
  let open: Open | undefined;
  const closed = new Set<TextBlock['type']>();
  const close = (): readonly Step[] => {
    if (!open) return [];
    const { type, index, text } = open;
    open = undefined;
    closed.add(type);
    return [...(type === 'thinking' ? [signature(index, text)] : []), stop(index)];
  };
  const grow = (block: TextBlock): readonly Step[] => {
    if (closed.has(block.type)) return [];
    const before = open?.type === block.type ? [] : close();
    const isNew = !open;
    open ??= { type: block.type, index: blocks++, text: '' };
    const text = block.type === 'text' ? block.text : block.thinking;
    const added = gained(open.text, text);
    open.text = text;
    return [
      ...before,
      ...(isNew ? [start(open.index, empty(block))] : []),
      ...(added === '' ? [] : [delta(open.index, block.type, added)]),
    ];
  };
  const beginning = (): readonly Step[] => {
    if (begun) return [];
    begun = true;
    return [{ type: 'message_start', message: newMessage(head) }];
  };
  const call = (block: Block & { readonly type: 'tool_use' }): readonly Step[] => {
    const index = blocks++;
    const json = { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
    return [
      start(index, { ...block, input: {} }),
      { type: 'content_block_delta', index, delta: json },
      stop(index),
    ];
  };
  return {
    update: ([turn]) => {
      const { reasoningText = '', responseText = '' } = turn ?? {};
      const steps = [
        ...(reasoningText === '' || open?.type === 'text'
          ? []
          : grow({ type: 'thinking', thinking: reasoningText, signature: '' })),
        ...(responseText === '' ? [] : grow({ type: 'text', text: responseText })),
      ];
      return steps.length === 0 ? [] : [...beginning(), ...steps].map(toEvent);
    },
    end: ({ body }) => {
      const { content, stop_reason, stop_sequence, usage } = body;
      const steps = content.flatMap((block) => {
        if (block.type === 'tool_use') return [...close(), ...call(block)];
        return block.type === 'thinking' && open?.type === 'text' ? [] : grow(block);
      });
      return [
        ...beginning(),
        ...steps,
        ...close(),
        { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
        { type: 'message_stop' },
      ].map(toEvent);
    },
  };
}

const toEvent = (step: Step): ServerEvent => ({ event: step.type, data: step });

const empty = ({ type }: TextBlock): object =>
  type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' };

const start = (index: number, content_block: object): Step => ({
  type: 'content_block_start',
  index,
  content_block,
});

const delta = (index: number, type: TextBlock['type'], added: string): Step => ({
  type: 'content_block_delta',
  index,
  delta:
    type === 'text'
      ? { type: 'text_delta', text: added }
      : { type: 'thinking_delta', thinking: added },
});

const signature = (index: number, thinking: string): Step => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'signature_delta', signature: sealReasoning(thinking) },
});

const stop = (index: number): Step => ({ type: 'content_block_stop', index });

/** Returns the events to send for an error that occurs after the stream has begun. */
export const failureEvents = (error: unknown): readonly ServerEvent[] => [
  { event: 'error', data: errorBody(error) },
];
