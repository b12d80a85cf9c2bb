/** Renders messages with a model's Jinja chat template. */
import {
  describeError,
  ModelError,
  type ToolCall,
  type ToolDefinition,
  CheckpointError,
} from '@trinity-rft/core';
import { valueOf, valueOfJson } from '../jinja/from-json.js';
import { compileJinja, type Render } from '../jinja/jinja.js';
import { isDict, type Value } from '../jinja/values.js';
import type { NormalMessage } from '../messages/messages.js';

export interface RenderInput {
  readonly messages: readonly NormalMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** True to end the prompt with the beginning of an assistant turn. */
  readonly addGenerationPrompt: boolean;
  /** Value of `enable_thinking`. @default undefined: the template decides */
  readonly enableThinking?: boolean;
  /** Additional variables, which take precedence over all other variables. */
  readonly templateArgs?: Readonly<Record<string, unknown>>;
}

export interface ChatTemplate {
  readonly source: string;
  /**
   * Renders the messages to a prompt. @throws ModelError 400 when the template rejects the messages
   */
  render(input: RenderInput): string;
}

/**
 * Time that templates print as the current date. It is the start of the process, so that prompts do
 * not change at midnight.
 */
const started = new Date();

/**
 * Compiles a template.
 * @param variables variables for every rendering, for example the special tokens
 * @param now time that the template prints as the current date
 * @throws CheckpointError for a syntax error
 */
export function createChatTemplate(
  source: string,
  variables: Readonly<Record<string, unknown>> = {},
  now: Date = started,
): ChatTemplate {
  const template = compile(source, now);
  const own = toValues(variables);
  const renderWith = (input: RenderInput, format: ArgumentFormat): string =>
    template(
      new Map<string, Value>([
        ['documents', null],
        ...own,
        ['messages', input.messages.map((message) => messageValue(message, format))],
        ['tools', input.tools && input.tools.length > 0 ? toolValues(input.tools) : null],
        ['add_generation_prompt', input.addGenerationPrompt],
        ...switches(input),
        ...toValues(input.templateArgs ?? {}),
      ]),
    );
  const format = argumentFormat(renderWith);
  return {
    source,
    render: (input) => {
      try {
        return renderWith(input, format);
      } catch (cause) {
        throw new ModelError(`The chat template rejects these messages: ${describeError(cause)}`, {
          status: 400,
          code: 'chat_template_refused',
          cause,
        });
      }
    },
  };
}

const toValues = (data: Readonly<Record<string, unknown>>): readonly [string, Value][] =>
  Object.entries(data).map(([name, value]) => [name, valueOf(value)]);

const switches = ({ enableThinking }: RenderInput): readonly [string, Value][] =>
  enableThinking === undefined ? [] : [['enable_thinking', enableThinking]];

function compile(source: string, now: Date): Render {
  try {
    // As in Python's Jinja, every line ending becomes a line feed.
    return compileJinja(source.replaceAll(/\r\n?/g, '\n'), { now });
  } catch (cause) {
    throw new CheckpointError(
      `The chat template is not valid Jinja, or uses a part of Jinja that is not supported here: ${describeError(cause)}`,
      {
        code: 'TEMPLATE_INVALID',
        cause,
      },
    );
  }
}

/**
 * How tool-call arguments are passed to a template: parsed, or as the string that the model wrote.
 */
type ArgumentFormat = 'text' | 'parsed';

/**
 * Determines how a template expects arguments. They are parsed, as in vLLM and transformers, unless
 * the template fails for a dict or prints a dict in Python's syntax instead of JSON.
 */
function argumentFormat(
  render: (input: RenderInput, format: ArgumentFormat) => string,
): ArgumentFormat {
  const call = {
    id: 'probe0000',
    type: 'function',
    function: { name: 'f', arguments: '{"probe":  1}' },
  } as const;
  const messages: readonly NormalMessage[] = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: '', tool_calls: [call] },
  ];
  const attempt = (format: ArgumentFormat): string => {
    try {
      return render({ messages, addGenerationPrompt: false }, format);
    } catch {
      return '';
    }
  };
  const text = attempt('parsed');
  if (text.includes('probe"') || !attempt('text').includes('probe"')) return 'parsed';
  return text.includes('probe') && !text.includes("'probe'") ? 'parsed' : 'text';
}

function messageValue(message: NormalMessage, format: ArgumentFormat): Value {
  const value = new Map<Value, Value>([
    ['role', message.role],
    ['content', message.content],
  ]);
  const { reasoning_content: reasoning, tool_calls: calls, tool_call_id: id, name } = message;
  if (reasoning !== undefined) {
    value.set('reasoning_content', reasoning);
    // gpt-oss templates read `thinking`; transformers sets it as well.
    value.set('thinking', reasoning);
  }
  if (calls)
    value.set(
      'tool_calls',
      calls.map((call) => callValue(call, format)),
    );
  if (id !== undefined) value.set('tool_call_id', id);
  if (name !== undefined) value.set('name', name);
  return value;
}

function callValue({ id, type, function: call }: ToolCall, format: ArgumentFormat): Value {
  const args = format === 'text' ? call.arguments : parsed(call.arguments);
  return new Map<Value, Value>([
    ['id', id],
    ['type', type],
    [
      'function',
      new Map([
        ['name', call.name],
        ['arguments', args],
      ]),
    ],
  ]);
}

function parsed(text: string): Value {
  try {
    return valueOfJson(text);
  } catch {
    return text;
  }
}

/**
 * Cache of tool definitions that are converted to template values. They are large and usually the
 * same for many model calls.
 */
const knownTools = new WeakMap<readonly ToolDefinition[], Value>();

function toolValues(tools: readonly ToolDefinition[]): Value {
  let values = knownTools.get(tools);
  if (values === undefined) knownTools.set(tools, (values = tools.map(toolValue)));
  return values;
}

function toolValue({ parametersSource, ...tool }: ToolDefinition): Value {
  const value = valueOf(tool);
  const definition = isDict(value) ? value.get('function') : undefined;
  if (parametersSource === undefined || !isDict(definition)) return value;
  const exact = new Map(definition).set('parameters', valueOfJson(parametersSource));
  return new Map(isDict(value) ? value : []).set('function', exact);
}
