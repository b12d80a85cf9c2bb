/** An agent that reasons and acts, and keeps all turns of a reply in one assistant message. */
import { createMsg, newId, type ContentBlock, type Msg, type ToolCallBlock } from './message.ts';
import type { OpenAIChatModel, ToolChoice } from './model.ts';
import { Toolkit } from './tool.ts';

export interface AgentOptions {
  name: string;
  sysPrompt: string;
  model: Pick<OpenAIChatModel, 'call'>;
  toolkit?: Toolkit;
  maxIters?: number;
}

/** Stateful agent: one object holds one conversation. */
export class Agent {
  readonly name: string;
  readonly context: Msg[] = [];
  private readonly options: AgentOptions;
  private readonly toolkit: Toolkit;

  constructor(options: AgentOptions) {
    this.name = options.name;
    this.options = options;
    this.toolkit = options.toolkit ?? new Toolkit();
  }

  /**
   * Returns the last content block as a message. If that block is not text, the model is called
   * once more with `tool_choice: 'none'`.
   */
  async reply({ msgs }: { msgs: Msg | Msg[] }): Promise<Msg> {
    this.context.push(...[msgs].flat());
    for (let iteration = 0; iteration < (this.options.maxIters ?? 20); iteration++) {
      const content = await this.reason('auto');
      const calls = content.filter((block): block is ToolCallBlock => block.type === 'tool_call');
      for (const call of calls) this.remember([await this.toolkit.callToolFunction(call)]);
      if (calls.length === 0) break;
    }
    if (this.lastBlock()?.type !== 'text') await this.reason('none');
    const last = this.lastBlock();
    return createMsg({ name: this.name, role: 'assistant', content: last ? [last] : [] });
  }

  private async reason(toolChoice: ToolChoice): Promise<ContentBlock[]> {
    const system = createMsg({
      name: 'system',
      role: 'system',
      content: [{ type: 'text', id: newId(), text: this.options.sysPrompt }],
    });
    const tools = this.toolkit.getJSONSchemas();
    const content = await this.options.model.call({
      messages: [system, ...this.context],
      tools,
      toolChoice,
    });
    this.remember(content);
    return content;
  }

  /** Appends everything after a user's message to one assistant message. */
  private remember(content: ContentBlock[]): void {
    const last = this.context.at(-1);
    if (last?.role === 'assistant' && last.name === this.name) last.content.push(...content);
    else
      this.context.push(createMsg({ name: this.name, role: 'assistant', content: [...content] }));
  }

  private lastBlock(): ContentBlock | undefined {
    return this.context.at(-1)?.content.at(-1);
  }
}
