/** Chat model over the `openai` package that sends the same requests as the framework's. */
import { OpenAI } from 'openai';
import { OpenAIChatFormatter, type FormatterBase } from './formatter.ts';
import { newId, type Msg, type TextBlock, type ToolCallBlock } from './message.ts';

export interface ToolSchema {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

export type ToolChoice = 'auto' | 'none' | 'required';

export interface OpenAIChatModelOptions {
  modelName: string;
  apiKey: string;
  baseURL?: string;
  stream?: boolean;
  maxRetries?: number;
  /** Further fields of the request. */
  presetGenParams?: Record<string, unknown>;
  formatter?: FormatterBase;
}

type Content = (TextBlock | ToolCallBlock)[];
type Request = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>;

/**
 * Model that sends `tool_choice` even without tools, and `tools: []` as well when streaming. Ignores reasoning. The
 * inner client retries failed calls twice, whatever `maxRetries` is. Unlike the framework's model, returns a streamed
 * answer only when it is complete.
 */
export class OpenAIChatModel {
  readonly modelName: string;
  readonly stream: boolean;
  readonly maxRetries: number;
  readonly formatter: FormatterBase;
  protected readonly client: OpenAI;
  protected readonly presetGenParams: Record<string, unknown>;

  constructor({
    modelName,
    apiKey,
    baseURL,
    stream = true,
    maxRetries = 3,
    presetGenParams = {},
    formatter,
  }: OpenAIChatModelOptions) {
    this.modelName = modelName;
    this.stream = stream;
    this.maxRetries = maxRetries;
    this.formatter = formatter ?? new OpenAIChatFormatter();
    this.client = new OpenAI({ apiKey, baseURL });
    this.presetGenParams = presetGenParams;
  }

  async call({
    messages,
    tools,
    toolChoice = 'auto',
  }: {
    messages: Msg[];
    tools?: ToolSchema[];
    toolChoice?: ToolChoice;
  }): Promise<Content> {
    const formatted = await this.formatter.format({ msgs: messages });
    const request = {
      model: this.modelName,
      messages: formatted as unknown as OpenAI.ChatCompletionMessageParam[],
      ...(tools && { tools }),
      tool_choice: toolChoice,
      ...this.presetGenParams,
    };
    for (let attempt = 0; ; attempt++) {
      try {
        return this.stream
          ? await this.readStream({ tools: [], ...request })
          : await this.readWhole(request);
      } catch (error) {
        if (attempt === this.maxRetries) throw error;
      }
    }
  }

  private async readWhole(request: Request): Promise<Content> {
    const { choices } = await this.client.chat.completions.create(request);
    const { content, tool_calls: calls = [] } = choices[0]!.message;
    return blocks(
      content ?? '',
      calls.flatMap((call) =>
        call.type === 'function'
          ? [{ id: call.id, name: call.function.name, input: call.function.arguments }]
          : [],
      ),
    );
  }

  private async readStream(request: Request): Promise<Content> {
    const calls: { id: string; name: string; input: string }[] = [];
    let text = '';
    for await (const { choices } of await this.client.chat.completions.create({
      ...request,
      stream: true,
    })) {
      const { content, tool_calls: parts = [] } = choices[0]?.delta ?? {};
      text += content ?? '';
      for (const { index, id, function: part } of parts) {
        const call = (calls[index] ??= { id: '', name: '', input: '' });
        call.id = id ?? call.id;
        call.name = part?.name ?? call.name;
        call.input += part?.arguments ?? '';
      }
    }
    return blocks(text, calls);
  }
}

const blocks = (text: string, calls: readonly Omit<ToolCallBlock, 'type'>[]): Content => [
  ...(text === '' ? [] : [{ type: 'text' as const, id: newId(), text }]),
  ...calls.map((call) => ({ ...call, type: 'tool_call' as const })),
];
