import { expect, it } from 'vitest';
import { defineEnvironment } from '../seam/define.js';
import { patternOf } from './action-format.js';
import { readActions } from './read-actions.js';

const actionIn = (format: string, responseText: string): unknown => {
  const read = { actionPattern: patternOf(format), tools: [] };
  const [found] = readActions({ responseText, toolCalls: [] } as never, read);
  return found && 'action' in found ? found.action : undefined;
};

it.each([
  ['Action: {action}', 'Action: left\nNo, better:\nAction: right', 'right'],
  ['<action>{action}</action>', 'I write <action> tags. <action>left</action>', 'left'],
  ['<action>{action}</action>', '<action>left</action> or <action>\nright\n</action>.', 'right'],
  ['```{action}```', 'First ```left```, then ```right```', 'right'],
  ['{action} STOP', 'left STOP right STOP', 'right'],
  ['{action}', ' left\nnow ', 'left\nnow'],
])('takes the last action in the format %j from %j', (format, text, action) => {
  expect(actionIn(format, text)).toEqual({ type: 'text', text: action });
});

it.each(['{action} END', '<a>{action}</a>', '<a>{action}'])(
  'searches a long text in the format %j',
  (format) => {
    expect(actionIn(format, 'word <a '.repeat(25_000))).toBeUndefined();
  },
);

it('stops a pattern that would search a response for ever', () => {
  const read = () =>
    readActions({ responseText: `${'a'.repeat(50)}b`, toolCalls: [] } as never, {
      actionPattern: /(a+)+$/g,
      tools: [],
    });
  expect(read).toThrow(
    'The action pattern (a+)+$ (workflow_args.action_pattern or, for playEpisode, actionPattern) takes more than 1 s',
  );
});

it.each(['<action></action>', '{action} or {action}'])('refuses the format %j', (actionFormat) => {
  const define = () =>
    defineEnvironment({
      name: 'cave',
      description: 'A cave.',
      play: { actionFormat },
      open: () => Promise.reject(new Error('closed')),
    });
  expect(define).toThrow(
    `Environment "cave": play.actionFormat is ${JSON.stringify(actionFormat)}; expected a format with {action} once`,
  );
});
