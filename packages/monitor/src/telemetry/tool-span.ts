/** Records a span for each tool call. */
import { capturesContent } from './content.js';
import { inSpan } from './spans.js';

export interface ToolCall {
  readonly name: string;
  /** Arguments of the call as JSON, exactly as the model wrote them. */
  readonly rawArguments: string;
}

export const inToolSpan = <T>(
  { name, rawArguments }: ToolCall,
  textOf: (result: T) => string,
  work: () => Promise<T>,
): Promise<T> =>
  inSpan(
    {
      name: `execute_tool ${name}`,
      attributes: () => ({
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'function',
        ...(capturesContent() && { 'gen_ai.tool.call.arguments': rawArguments }),
      }),
      ended: (result) => (capturesContent() ? { 'gen_ai.tool.call.result': textOf(result) } : {}),
    },
    work,
  );
