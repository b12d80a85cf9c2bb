import type { ToolCall } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ascii, charOptions, testFormat } from '../../test/helpers.js';
import type { ChatFormat } from '../format/chat-format.js';
import { valueOf } from '../jinja/from-json.js';
import { dumps } from '../jinja/spelling.js';
import { normalizeMessages, type NormalMessage } from '../messages/messages.js';
import { chatTemplates } from '../template/chat-templates.js';
import { buildCharTokenizer } from '../tokenizer/char-tokenizer.js';
import { createTokenizer } from '../tokenizer/tokenizer.js';
import { createLedger, type Ledger, type LedgerPrompt } from './ledger.js';

/** Template that drops reasoning before the last user message, as Qwen3's template does. */
const forgetful = `{%- set ns = namespace(last=0) %}
{%- for m in messages %}{%- if m.role == 'user' %}{%- set ns.last = loop.index0 %}{%- endif %}{%- endfor %}
{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '\\n' }}
    {%- if m.role == 'assistant' and m.reasoning_content and loop.index0 > ns.last %}
        {{- '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}
    {%- endif %}
    {{- m.content }}
    {%- for c in m.tool_calls or [] %}
        {{- '\\n<tool_call>' + c.function.name + c.function.arguments + '</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

/** Message that a client gets for a completion, with ids for its calls. */
function answer(format: ChatFormat, completion: Int32Array, id: string): NormalMessage {
  const { text, reasoning, toolCalls } = format.readTurn(completion, { tools: true });
  const calls = toolCalls.map((call, i): ToolCall => ({
    id: `${id}-${i}`,
    type: 'function',
    function: call,
  }));
  return {
    role: 'assistant',
    content: text,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function rollout(format: ChatFormat, ledger: Ledger = createLedger(format)) {
  let count = 0;
  return {
    ledger,
    ask: (messages: readonly unknown[], input: object = {}): LedgerPrompt =>
      ledger.prompt({ messages: normalizeMessages(messages), ...input }),
    say: (prompt: LedgerPrompt, text: string, truncated = false): NormalMessage => {
      const completion = format.tokenizer.encode(text);
      const message = answer(format, completion, `call${count++}`);
      ledger.record(prompt, { message, completion, truncated });
      return message;
    },
    text: (prompt: LedgerPrompt): string => format.tokenizer.decode(prompt.ids),
  };
}

const user = (content: string): NormalMessage => ({ role: 'user', content });
const tool = (content: string, tool_call_id: string): NormalMessage => ({
  role: 'tool',
  content,
  tool_call_id,
});

// A turn in two spellings: as the template prints it, and as a model might.
interface TurnShape {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly Readonly<Record<string, unknown>>[];
  readonly next: string;
}

const plain = fc
  .array(fc.constantFrom('a', 'b', ' ', '1', '\n', '{"', '}', '<', 'and', 'user'), { maxLength: 8 })
  .map((parts) => parts.join(''));
const trimmed = plain.map((text) => text.trim());
const args = fc.dictionary(
  fc.constantFrom('a', 'b', '7', 'and'),
  fc.jsonValue({ stringUnit: 'grapheme-ascii' }),
);
const shape: fc.Arbitrary<TurnShape> = fc.record({
  text: trimmed,
  reasoning: trimmed,
  calls: fc.array(args, { maxLength: 2 }),
  next: plain,
});

function asTemplate({ text, reasoning, calls }: TurnShape): string {
  const body = calls.map(
    (value) => `<tool_call>\n{"name": "f", "arguments": ${dumps(valueOf(value))}}\n</tool_call>`,
  );
  return `${reasoning === '' ? '' : `<think>\n${reasoning}\n</think>\n\n`}${[...(text === '' ? [] : [text]), ...body].join('\n')}<|im_end|>`;
}

function asModel({ text, reasoning, calls }: TurnShape): string {
  const body = calls.map(
    (value) =>
      `<tool_call>{ "arguments":${JSON.stringify(value, null, 1)},"name":"f"}</tool_call> `,
  );
  return `${reasoning === '' ? '' : `<think>${reasoning}</think>`}${text}${body.join('')}<|im_end|>`;
}

/** Changes that frameworks make to an assistant message before they send it back. */
function mangle(message: NormalMessage): unknown {
  return {
    ...message,
    content: message.content === '' ? null : [{ type: 'text', text: `${message.content} ` }],
    name: 'model',
    tool_calls: message.tool_calls?.map((call) => ({
      ...call,
      function: { ...call.function, arguments: respell(call.function.arguments) },
    })),
  };
}

const respell = (text: string): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(JSON.parse(text) as object).toReversed()),
    null,
    2,
  );

interface Play {
  readonly format: ChatFormat;
  readonly write: (turn: TurnShape) => string;
  readonly back: (message: NormalMessage) => unknown;
  readonly check: (prompt: LedgerPrompt, said: string, messages: readonly unknown[]) => void;
}

/** Plays a whole conversation; `said` is the text of the last prompt and completion. */
function play({ format, write, back, check }: Play, turns: readonly TurnShape[]): void {
  const run = rollout(format);
  const messages: unknown[] = [{ role: 'system', content: 'be' }, user('go')];
  let said = '';
  for (const turn of turns) {
    const prompt = run.ask(messages);
    check(prompt, said, messages);
    const message = run.say(prompt, write(turn));
    said = run.text(prompt) + write(turn);
    messages.push(
      back(message),
      ...(message.tool_calls ?? []).map(({ id }, i) => tool(`result ${i}`, id)),
    );
    if (turn.next !== '' || !message.tool_calls) messages.push(user(turn.next));
  }
  check(run.ask(messages), said, messages);
}

describe('a ledger, for conversations that were not edited', () => {
  const format = testFormat();
  const ids = (text: string): readonly number[] => [...format.tokenizer.encode(text)];

  it('gives the ids of a full rendering when turns are written as the template prints them', () => {
    const check: Play['check'] = (prompt, said, messages) => {
      expect(prompt.outcome).toBe(said === '' ? 'new' : 'spliced');
      expect([...prompt.ids]).toEqual(
        ids(format.render({ messages: normalizeMessages(messages) })),
      );
    };
    const conversation: Play = { format, write: asTemplate, back: (message) => message, check };
    fc.assert(
      fc.property(fc.array(shape, { maxLength: 4 }), (turns) => play(conversation, turns)),
      { numRuns: 60 },
    );
  });

  it('extends prompt and completion exactly, however the model writes and whatever frameworks send back', () => {
    const check: Play['check'] = (prompt, said) => {
      expect(prompt.outcome).toBe(said === '' ? 'new' : 'spliced');
      expect([...prompt.ids.subarray(0, prompt.reused)]).toEqual(ids(said));
    };
    const conversation: Play = { format, write: asModel, back: mangle, check };
    fc.assert(
      fc.property(fc.array(shape, { minLength: 1, maxLength: 4 }), (turns) =>
        play(conversation, turns),
      ),
      { numRuns: 60 },
    );
  });

  it('keeps ids that a second tokenisation would not give', () => {
    const run = rollout(format);
    const first = run.ask([user('go')]);
    const completion = Int32Array.of(
      ...['a', 'n', 'd', '<|im_end|>'].map((token) => format.tokenizer.tokenToId(token)!),
    );
    run.ledger.record(first, {
      message: { role: 'assistant', content: 'and' },
      completion,
      truncated: false,
    });
    const next = run.ask([user('go'), { role: 'assistant', content: 'and' }, user('on')]);
    expect([...next.ids]).toEqual([
      ...first.ids,
      ...completion,
      ...ids('\n<|im_start|>user\non<|im_end|>\n<|im_start|>assistant\n'),
    ]);
  });

  it('keeps every control character of later messages', () => {
    const controls = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0x80 + i)).join('');
    const wide = testFormat(chatTemplates.chatml, {
      tokenizer: createTokenizer(
        buildCharTokenizer({ ...charOptions, characters: `${ascii}${controls}` }),
      ),
    });
    const run = rollout(wide);
    const first = run.ask([user('go')]);
    const message = run.say(
      first,
      '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call><|im_end|>',
    );
    const messages = [user('go'), message, tool(`He said \u0093hello\u0094${controls}`, 'call0-0')];
    const next = run.ask(messages);
    expect(next.outcome).toBe('spliced');
    expect(run.text(next)).toBe(wide.render({ messages }));
  });

  it('ignores an end token of the configuration that has no text', () => {
    const { files } = format.tokenizer;
    const tokenizer = createTokenizer({ ...files, generationConfig: { eos_token_id: [9999] } });
    const run = rollout(testFormat(chatTemplates.chatml, { tokenizer }));
    const message = run.say(run.ask([user('go')]), 'so<|im_end|>');
    expect(run.ask([user('go'), message, user('on')]).outcome).toBe('spliced');
  });

  it('continues the right one of several choices', () => {
    const run = rollout(format);
    const prompt = run.ask([user('go')]);
    run.say(prompt, 'one<|im_end|>');
    run.say(prompt, '<think>x</think>two<|im_end|>');
    const texts = [{ content: 'one' }, { content: 'two', reasoning: 'x' }].map((said) => {
      const next = run.ask([user('go'), { role: 'assistant', ...said }, user('on')]);
      expect(next.outcome).toBe('spliced');
      return format.tokenizer.decode(next.ids.subarray(prompt.ids.length, next.reused));
    });
    expect(texts).toEqual(['one<|im_end|>', '<think>x</think>two<|im_end|>']);
  });

  it('closes a turn that the token limit ended, as context', () => {
    const run = rollout(format);
    const prompt = run.ask([user('go')]);
    const message = run.say(prompt, 'on and o', true);
    const next = run.ask([user('go'), message, user('stop')]);
    expect(next).toMatchObject({
      outcome: 'spliced',
      reused: prompt.ids.length + ids('on and o').length,
    });
    expect(run.text(next)).toBe(
      `${run.text(prompt)}on and o<|im_end|>\n<|im_start|>user\nstop<|im_end|>\n<|im_start|>assistant\n`,
    );
  });

  it('calls a conversation with examples in its first prompt new', () => {
    const run = rollout(format);
    const examples = [user('1+1'), { role: 'assistant', content: '2' }, user('go')];
    const prompt = run.ask(examples);
    const message = run.say(prompt, 'so<|im_end|>');
    expect(prompt.outcome).toBe('new');
    expect(run.ask([...examples, message, user('on')]).outcome).toBe('spliced');
    expect(
      run.ask([user('another'), { role: 'assistant', content: 'example' }, user('go')]).outcome,
    ).toBe('new');
  });

  it('asks again from the same prompt for a repeated request', () => {
    const run = rollout(format);
    const prompt = run.ask([user('go')]);
    run.say(prompt, 'so<|im_end|>');
    expect(run.ask([user('go')])).toMatchObject({ outcome: 'new', ids: prompt.ids });
  });
});

describe('a ledger, for conversations it cannot simply continue', () => {
  const format = testFormat();
  const call = '<tool_call>{"name":"f","arguments":{"a": 1}}</tool_call>';

  /** One turn with reasoning and a call, then the client's next request. */
  function afterTurn(
    change: (message: NormalMessage) => NormalMessage,
    before: readonly NormalMessage[] = [user('go')],
    input: object = {},
  ): LedgerPrompt {
    const run = rollout(format);
    const message = run.say(run.ask([user('go')]), `<think>hm</think>so${call}<|im_end|>`);
    return run.ask([...before, change(message), tool('2', 'call0-0')], input);
  }

  const edited = (message: NormalMessage, text: string): NormalMessage => ({
    ...message,
    tool_calls: message.tool_calls!.map((each) => ({
      ...each,
      function: { ...each.function, arguments: text },
    })),
  });
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const same = (message: NormalMessage): NormalMessage => message;

  it.each<[string, LedgerPrompt]>([
    ['spliced', afterTurn((message) => edited(message, '{"a":1.0}'))],
    ['arguments_edited', afterTurn((message) => edited(message, '{"a":2}'))],
    [
      'reasoning_dropped',
      afterTurn(({ role, content, tool_calls }) => ({ role, content, tool_calls: tool_calls! })),
    ],
    ['text_edited', afterTurn((message) => ({ ...message, content: 'other' }))],
    ['text_edited', afterTurn((message) => ({ ...message, reasoning_content: 'other' }))],
    ['history_edited', afterTurn(same, [user('gone')])],
    ['history_edited', afterTurn(same, [{ role: 'system', content: 'new' }, user('go')])],
    ['tools_changed', afterTurn(same, [user('go')], { tools })],
    ['tools_changed', afterTurn(same, [user('go')], { enableThinking: true })],
  ])('says %s', (outcome, prompt) => {
    expect(prompt.outcome).toBe(outcome);
    expect(prompt.reused > 0).toBe(outcome === 'spliced');
  });

  it('renders edited conversations as they were sent', () => {
    const run = rollout(format);
    const message = run.say(run.ask([user('go')]), `${call}<|im_end|>`);
    const messages = [user('go'), edited(message, '{"a":2}'), tool('2', 'call0-0')];
    expect(run.text(run.ask(messages))).toBe(format.render({ messages }));
  });

  it('keeps the turns before the one that was edited', () => {
    const run = rollout(format);
    const first = run.ask([user('go')]);
    const one = run.say(first, `<think>x</think>${call}<|im_end|>`);
    const messages = [user('go'), one, tool('2', 'call0-0')];
    const second = run.ask(messages);
    run.say(second, 'four<|im_end|>');
    const third = run.ask([...messages, { role: 'assistant', content: 'five' }, user('on')]);
    expect(third.outcome).toBe('text_edited');
    expect(run.text(third)).toBe(
      `${run.text(second)}five<|im_end|>\n<|im_start|>user\non<|im_end|>\n<|im_start|>assistant\n`,
    );
    expect(third.reused).toBe(
      first.ids.length + format.tokenizer.encode(`<think>x</think>${call}<|im_end|>`).length,
    );
  });

  it('continues from a conversation that was rendered again', () => {
    const run = rollout(format);
    run.say(run.ask([user('go')]), 'one<|im_end|>');
    const messages = [user('go'), { role: 'assistant', content: 'two' }, user('on')];
    const forked = run.ask(messages);
    const message = run.say(forked, 'three<|im_end|>');
    const next = run.ask([...messages, message, user('and')]);
    expect([forked.outcome, next.outcome]).toEqual(['text_edited', 'spliced']);
    expect(run.text(next).startsWith(`${run.text(forked)}three<|im_end|>\n`)).toBe(true);
  });

  it('renders again where the template changes earlier text', () => {
    const run = rollout(testFormat(forgetful));
    const first = run.ask([user('go')]);
    const one = run.say(first, '<think>hm</think><tool_call>{"name":"f"}</tool_call><|im_end|>');
    const inLoop = [user('go'), one, tool('2', 'call0-0')];
    const second = run.ask(inLoop);
    const two = run.say(second, 'fin<|im_end|>');
    const third = run.ask([...inLoop, two, user('on')]);
    expect([second.outcome, third.outcome, third.reused]).toEqual([
      'spliced',
      'template_changed',
      0,
    ]);
    expect(run.text(third)).not.toContain('hm');
  });

  it('renders again where reasoning is only in the tokens; an empty think block may stay there', () => {
    const outcome = (block: string): string => {
      const run = rollout(testFormat(chatTemplates.chatml, { reasoningParser: 'qwen3' }));
      const first = run.ask([user('go')]);
      const { reasoning_content: _, ...bare } = run.say(first, `${block}so<|im_end|>`);
      run.ledger.record(first, {
        message: bare,
        completion: format.tokenizer.encode(`${block}so<|im_end|>`),
        truncated: false,
      });
      return run.ask([user('go'), bare, user('on')]).outcome;
    };
    expect(outcome('<think>\nhm\n</think>\n\n')).toBe('template_changed');
    expect(outcome('<think>\n\n</think>\n\n')).toBe('spliced');
  });

  it('continues where the template only moves white space, as that of Hermes 3 does', () => {
    const moving = chatTemplates.chatml.replace(
      "'\\n</tool_response>' }}",
      "'\\n</tool_response>' + ('' if loop.last else '\\n') }}",
    );
    expect(moving).not.toBe(chatTemplates.chatml);
    const run = rollout(testFormat(moving));
    const one = run.say(run.ask([user('go')]), `${call}<|im_end|>`);
    const messages = [user('go'), one, tool('2', 'call0-0')];
    const two = run.say(run.ask(messages), 'so<|im_end|>');
    expect(run.ask([...messages, two, user('on')]).outcome).toBe('spliced');
  });

  it('renders again after a stop string or another end token', () => {
    for (const end of ['STOP', '<|endoftext|>']) {
      const run = rollout(format);
      const message = run.say(run.ask([user('go')]), `so${end}`);
      expect(run.ask([user('go'), message, user('on')]).outcome).toBe('stop_differs');
    }
  });

  it('does not count a message that is being continued as a turn', () => {
    const run = rollout(format);
    const message = run.say(run.ask([user('go')]), 'one<|im_end|>');
    const prompt = run.ask([
      user('go'),
      message,
      user('on'),
      { role: 'assistant', content: 'The' },
    ]);
    expect(prompt.outcome).toBe('spliced');
    expect(run.text(prompt).endsWith('<|im_start|>assistant\nThe')).toBe(true);
    expect(prompt).not.toHaveProperty('entry');
    expect(() => run.say(prompt, ' end<|im_end|>')).not.toThrow();
  });
});

describe('a ledger that puts reasoning back', () => {
  const format = testFormat();
  const restoring = () => rollout(format, createLedger(format, { reasoning: 'restore' }));
  const bare = ({ role, content, tool_calls: calls }: NormalMessage): NormalMessage => ({
    role,
    content,
    ...(calls && { tool_calls: calls }),
  });

  it('continues a conversation whose reasoning was left out, by the ids of its calls or its text', () => {
    const run = restoring();
    const first = run.ask([user('go')]);
    const one = run.say(
      first,
      '<think>hm</think>so<tool_call>{"name":"f","arguments":{"a": 1}}</tool_call><|im_end|>',
    );
    const history = [user('go'), bare(one), tool('2', 'call0-0')];
    const second = run.ask(history);
    expect(second).toMatchObject({ outcome: 'spliced', restored: 1 });
    expect(run.text(second)).toContain('<think>hm</think>so');
    const two = run.say(second, '<think>aha</think>four<|im_end|>');
    const third = run.ask([...history, bare(two), user('on')]);
    expect(third).toMatchObject({ outcome: 'spliced', restored: 2 });
    expect(third.reused).toBe(
      second.ids.length + format.tokenizer.encode('<think>aha</think>four<|im_end|>').length,
    );
  });

  it('follows a conversation through a long text, and tells it from the same text in another role', () => {
    const run = restoring();
    const long = 'where? '.repeat(3000);
    const one = run.say(run.ask([user(long)]), '<think>hm</think>there<|im_end|>');
    const goesOn = (first: NormalMessage): LedgerPrompt => run.ask([first, bare(one), user('on')]);
    expect(goesOn(user(long))).toMatchObject({ outcome: 'spliced', restored: 1 });
    expect(goesOn({ role: 'system', content: long })).toMatchObject({ reused: 0, restored: 0 });
    expect(goesOn(user(`${long}?`))).toMatchObject({ reused: 0, restored: 0 });
  });

  it('leaves reasoning that was sent, and messages that were never recorded, as they are', () => {
    const run = restoring();
    run.say(run.ask([user('go')]), '<think>hm</think>so<|im_end|>');
    const after = (message: NormalMessage): LedgerPrompt =>
      run.ask([user('go'), message, user('on')]);
    expect(after({ role: 'assistant', content: 'so', reasoning_content: 'no' })).toMatchObject({
      outcome: 'text_edited',
      restored: 0,
    });
    expect(after({ role: 'assistant', content: 'other' })).toMatchObject({
      outcome: 'text_edited',
      restored: 0,
    });
    expect(run.ask([user('gone'), { role: 'assistant', content: 'so' }, user('on')])).toMatchObject(
      { restored: 0 },
    );
  });

  it('puts nothing back where a choice without reasoning says the same', () => {
    const run = restoring();
    const prompt = run.ask([user('go')]);
    run.say(prompt, 'so<|im_end|>');
    run.say(prompt, '<think>hm</think>so<|im_end|>');
    expect(run.ask([user('go'), { role: 'assistant', content: 'so' }, user('on')])).toMatchObject({
      outcome: 'spliced',
      restored: 0,
    });
  });
});

describe('what a ledger tells about a prompt', () => {
  const format = testFormat();

  it('names the turn it continues by the number of the recorder', () => {
    const { ledger } = rollout(format);
    const prompt = ledger.prompt({ messages: [user('go')] });
    const completion = format.tokenizer.encode('so<|im_end|>');
    ledger.record(prompt, {
      message: { role: 'assistant', content: 'so' },
      completion,
      truncated: false,
      call: 7,
    });
    expect(prompt.continues).toBeUndefined();
    expect(
      ledger.prompt({ messages: [user('go'), { role: 'assistant', content: 'so' }, user('on')] })
        .continues,
    ).toBe(7);
  });

  it('counts arguments that were not JSON and came back as something else, in the turn that made them', () => {
    const run = rollout(format);
    const calls = [
      { id: 'x', type: 'function' as const, function: { name: 'f', arguments: '{"a": ' } },
    ];
    const first = run.ask([user('go')]);
    const completion = format.tokenizer.encode(
      '<tool_call>{"name":"f","arguments":{"a": }</tool_call><|im_end|>',
    );
    run.ledger.record(first, {
      message: { role: 'assistant', content: '', tool_calls: calls },
      completion,
      truncated: false,
    });
    const sent = (text: string): NormalMessage => ({
      role: 'assistant',
      content: '',
      tool_calls: [{ ...calls[0]!, function: { name: 'f', arguments: text } }],
    });
    const after = (text: string): LedgerPrompt =>
      run.ask([user('go'), sent(text), tool('bad', 'x')]);
    expect(after('{}')).toMatchObject({ outcome: 'spliced', replacedCalls: 1 });
    expect(after('{"a": ')).toMatchObject({ outcome: 'spliced', replacedCalls: 0 });
    expect(after('{"a": 1}')).toMatchObject({ outcome: 'arguments_edited', replacedCalls: 0 });
  });

  it('continues a turn whose call has a name that Mastra replaces', () => {
    const run = rollout(format);
    const call = (name: string): NormalMessage => ({
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'x', type: 'function', function: { name, arguments: '{}' } }],
    });
    const first = run.ask([user('go')]);
    const completion = format.tokenizer.encode('<tool_call>?</tool_call><|im_end|>');
    run.ledger.record(first, { message: call("'f"), completion, truncated: false });
    const after = (name: string): LedgerPrompt =>
      run.ask([user('go'), call(name), tool('bad', 'x')]);
    expect(after('unknown_tool')).toMatchObject({ outcome: 'spliced', replacedCalls: 1 });
    expect(after("'f")).toMatchObject({ outcome: 'spliced', replacedCalls: 0 });
    expect(after('f')).toMatchObject({ outcome: 'text_edited' });
  });

  it('shows the first difference of a turn that was edited', () => {
    const run = rollout(format);
    const long = 'and '.repeat(100);
    const message = run.say(run.ask([user('go')]), `${long}1<|im_end|>`);
    const { fork } = run.ask([user('go'), { ...message, content: `${long}2` }, user('on')]);
    expect(fork).toMatchObject({ reason: 'text_edited', message: 1 });
    expect(fork!.recorded).toMatch(/^.{40}1"/);
    expect(fork!.sent).toMatch(/^.{40}2"/);
    expect(run.ask([user('go'), message, user('on')]).fork).toBeUndefined();
  });
});
