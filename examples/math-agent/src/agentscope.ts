/**
 * Stands in for AgentScope for TypeScript, which is not on npm: the classes that the example needs,
 * with the options, the messages and the requests of the original. With AgentScope at hand, import
 * from it instead.
 */
import OpenAI from 'openai';

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

export interface Msg {
  readonly name: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly TextBlock[];
}

const textMsg = (role: Msg['role'], name: string, text: string): Msg => ({
  name,
  role,
  content: [{ type: 'text', text }],
});

export const UserMsg = ({
  name,
  content,
}: {
  readonly name: string;
  readonly content: string;
}): Msg => textMsg('user', name, content);

/** `null` when there is no text. */
export function getTextContent({ content }: Msg, separator = '\n'): string | null {
  return content.length === 0 ? null : content.map(({ text }) => text).join(separator);
}

export interface OpenAIChatModelOptions {
  readonly modelName: string;
  readonly apiKey: string;
  readonly baseURL: string;
  readonly stream?: boolean;
  readonly maxRetries?: number;
}

export class OpenAIChatModel {
  readonly modelName: string;
  readonly #client: OpenAI;

  constructor({ modelName, apiKey, baseURL, maxRetries = 3 }: OpenAIChatModelOptions) {
    this.modelName = modelName;
    this.#client = new OpenAI({ apiKey, baseURL, maxRetries });
  }

  /** Content is sent as parts, as AgentScope does. */
  async call(messages: readonly Msg[]): Promise<string> {
    const { choices } = await this.#client.chat.completions.create({
      model: this.modelName,
      messages: messages.map(({ role, content }) => ({
        role,
        content,
      })) as unknown as OpenAI.ChatCompletionMessageParam[],
      tool_choice: 'auto',
    });
    return choices[0]?.message.content ?? '';
  }
}

export interface AgentOptions {
  readonly name: string;
  readonly sysPrompt: string;
  readonly model: OpenAIChatModel;
}

/** The ReAct agent; without tools its first thought is its answer. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #memory: Msg[] = [];

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  async reply({ msgs }: { readonly msgs: Msg | readonly Msg[] }): Promise<Msg> {
    const { name, sysPrompt, model } = this.#options;
    this.#memory.push(...[msgs].flat());
    const answer = textMsg(
      'assistant',
      name,
      await model.call([textMsg('system', name, sysPrompt), ...this.#memory]),
    );
    this.#memory.push(answer);
    return answer;
  }
}
