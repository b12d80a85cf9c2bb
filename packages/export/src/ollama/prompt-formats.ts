/**
 * Prompt formats for which an Ollama template exists. Ollama's templates are written in Go, a
 * checkpoint's template in Jinja. A format is used only if it renders test conversations exactly as
 * the checkpoint's template does.
 */
import type { ChatFormat, NormalMessage } from '@trinity-rft/chat';

export interface PromptFormat {
  readonly name: string;
  /** Go template that renders `.Messages` and the header of the response. */
  readonly template: string;
  /** Returns the prompt that `template` produces for the messages. */
  readonly render: (messages: readonly NormalMessage[]) => string;
}

const turns =
  (turn: (message: NormalMessage) => string, end: string, start = '') =>
  (messages: readonly NormalMessage[]): string =>
    start + messages.map(turn).join('') + end;

/**
 * Returns a Go template that writes `start`, then each message with the template `turn`, and then
 * `end`, the header of the response.
 */
const range = (turn: string, end: string, start = ''): string =>
  `${start}{{- range .Messages }}${turn}{{ end }}${end}`;

export const promptFormats: readonly PromptFormat[] = [
  {
    name: 'chatml',
    template: range(
      '<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n',
      '<|im_start|>assistant\n',
    ),
    render: turns(
      ({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`,
      '<|im_start|>assistant\n',
    ),
  },
  {
    name: 'llama3',
    template: range(
      '<|start_header_id|>{{ .Role }}<|end_header_id|>\n\n{{ .Content }}<|eot_id|>',
      '<|start_header_id|>assistant<|end_header_id|>\n\n',
      '<|begin_of_text|>',
    ),
    render: turns(
      ({ role, content }) => `<|start_header_id|>${role}<|end_header_id|>\n\n${content}<|eot_id|>`,
      '<|start_header_id|>assistant<|end_header_id|>\n\n',
      '<|begin_of_text|>',
    ),
  },
  {
    name: 'phi3',
    template: range('<|{{ .Role }}|>\n{{ .Content }}<|end|>\n', '<|assistant|>\n'),
    render: turns(({ role, content }) => `<|${role}|>\n${content}<|end|>\n`, '<|assistant|>\n'),
  },
  {
    name: 'gemma',
    template: range(
      '<start_of_turn>{{ if eq .Role "assistant" }}model{{ else }}{{ .Role }}{{ end }}\n{{ .Content }}<end_of_turn>\n',
      '<start_of_turn>model\n',
      '<bos>',
    ),
    render: turns(
      ({ role, content }) =>
        `<start_of_turn>${role === 'assistant' ? 'model' : role}\n${content}<end_of_turn>\n`,
      '<start_of_turn>model\n',
      '<bos>',
    ),
  },
];

const user = (content: string): NormalMessage => ({ role: 'user', content });
const assistant = (content: string): NormalMessage => ({ role: 'assistant', content });
const system: NormalMessage = { role: 'system', content: 'Be brief.' };

/**
 * Conversations on which formats are compared. The messages have no leading or trailing spaces,
 * because some Jinja templates strip them and Ollama does not.
 */
const probes: readonly (readonly NormalMessage[])[] = [
  [user('Hello')],
  [user('One'), assistant('Two'), user('Three')],
  [system, user('Hello')],
  [system, user('One'), assistant('Two\n\nlines'), user('Three {{ .Role }}')],
];

/**
 * Returns the known format that renders plain conversations exactly as `format` does, or undefined
 * if there is none. If the template of `format` rejects system messages, conversations with system
 * messages are not compared.
 */
export function promptFormatOf(format: ChatFormat): PromptFormat | undefined {
  const wanted = probes.map((messages) => renderedBy(format, messages));
  if (wanted[0] === undefined || wanted[1] === undefined) return undefined;
  return promptFormats.find(({ render }) =>
    probes.every((messages, i) => wanted[i] === undefined || wanted[i] === render(messages)),
  );
}

function renderedBy(format: ChatFormat, messages: readonly NormalMessage[]): string | undefined {
  try {
    return format.render({ messages });
  } catch {
    return undefined;
  }
}
