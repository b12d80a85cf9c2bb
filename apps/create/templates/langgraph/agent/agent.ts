/** A LangGraph graph with a model and its tools. It knows nothing about training. */
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { tool } from 'langchain';
import { z } from 'zod';
import { multiply } from './calculator.ts';

const calculator = tool(({ expression }) => multiply(expression), {
  name: 'calculator',
  description: 'Multiplies two whole numbers.',
  schema: z.object({ expression: z.string().describe('for example 12*34') }),
});

/** Limit that allows three model calls and the tool calls between them. */
const recursionLimit = 6;

export async function answer(
  question: string,
  { model = ownModel(), config = {} }: { model?: ChatOpenAI; config?: object } = {},
): Promise<string> {
  const ask = model.bindTools([calculator]);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async (state, nodeConfig) => ({
      messages: await ask.invoke(state.messages, nodeConfig),
    }))
    .addNode('tools', new ToolNode([calculator]))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsCondition, ['tools', END])
    .addEdge('tools', 'model')
    .compile();
  const input = { messages: [{ role: 'user' as const, content: question }] };
  const { messages } = await graph.invoke(input, { ...config, recursionLimit });
  return messages.at(-1)?.text ?? '';
}

const ownModel = (): ChatOpenAI =>
  new ChatOpenAI({ model: 'gpt-5-nano', apiKey: process.env['OPENAI_API_KEY'] ?? 'none' });
