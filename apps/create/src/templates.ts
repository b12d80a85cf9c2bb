/** Templates of new projects. */
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';

export interface Template {
  readonly name: string;
  /** Description for users, on one line. */
  readonly description: string;
  /** Names of folders in `templates/`. Their files are copied in this order. */
  readonly parts: readonly string[];
  /** Line to print before the install command, for a step that the user must do first. */
  readonly before?: string;
}

/**
 * Root folder of this package. Source files and built files are each in a folder directly below it.
 */
export const packageFolder = path.join(import.meta.dirname, '..');

/** Templates in the order in which they are listed; the first is the default. */
export const templates: readonly Template[] = [
  agent('openai', 'an agent on the plain openai client'),
  agent('ai-sdk', 'an agent of the Vercel AI SDK'),
  agent('openai-agents', 'an agent of the OpenAI Agents SDK'),
  agent('langchain', 'an agent of LangChain'),
  agent('langgraph', 'a graph of LangGraph'),
  agent('mastra', 'an agent of Mastra'),
  {
    ...agent('agentscope', 'an agent of AgentScope'),
    before: '# npm does not have @agentscope-ai/agentscope: see INSTALL.md',
  },
  {
    name: 'process',
    description: 'a program in any language, here in JavaScript',
    parts: ['base', 'practice', 'practice-tasks', 'agent', 'process'],
  },
  {
    name: 'workflow-package',
    description: 'an npm package of workflows and reward functions for others to train with',
    parts: ['base', 'practice', 'practice-tasks', 'workflow-package'],
  },
  {
    name: 'environment-package',
    description: 'an npm package of an environment for others to train in',
    parts: ['base', 'practice', 'environment-package'],
  },
];

function agent(name: string, description: string): Template {
  const parts = ['base', 'practice', 'practice-tasks', 'agent', 'tool', name];
  return { name, description, parts };
}

/**
 * Returns the template with this name.
 * @throws ConfigError if there is none; the message lists the templates
 */
export function findTemplate(name: string): Template {
  const template = templates.find((known) => known.name === name);
  if (template !== undefined) return template;
  const names = templates.map((known) => known.name).join(', ');
  throw new ConfigError(
    `There is no template ${JSON.stringify(name)}. The templates are ${names}.`,
  );
}
