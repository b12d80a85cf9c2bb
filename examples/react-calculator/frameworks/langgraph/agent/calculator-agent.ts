/** A graph of LangGraph with a model and its tools. It is independent of training. */
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import type { ChatOpenAI } from '@langchain/openai';
import { tool } from 'langchain';
import { z } from 'zod';
import { multiply } from '../../multiply.ts';

const calculator = tool(({ expression }) => multiply(expression), {
  name: 'calculator',
  description: 'Multiplies two whole numbers.',
  schema: z.object({ expression: z.string().describe('for example 12*34') }),
});

/** Limit of graph steps: three calls of the model and the tools between them. */
const recursionLimit = 6;

interface Graph {
  invoke(
    input: { messages: { role: 'user'; content: string }[] },
    config?: object,
  ): Promise<{ readonly messages: readonly { readonly text: string }[] }>;
}

export function calculatorGraph(model: ChatOpenAI): Graph {
  const ask = model.bindTools([calculator]);
  return new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }, config) => ({
      messages: await ask.invoke(messages, config),
    }))
    .addNode('tools', new ToolNode([calculator]))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsCondition, ['tools', END])
    .addEdge('tools', 'model')
    .compile()
    .withConfig({ recursionLimit });
}
