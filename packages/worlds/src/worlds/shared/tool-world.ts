/** Worlds in which the policy acts through tools. */
import type { ToolDefinition } from '@trinity-rft/core';
import type { Action, StepResult, World } from '@trinity-rft/environment';
import { z } from 'zod';
import { refuse } from './actions.js';

type Result = StepResult | Promise<StepResult>;

export interface WorldTool {
  readonly definition: ToolDefinition;
  call(args: unknown): Result;
}

export interface ToolOptions<Args> {
  readonly name: string;
  readonly description: string;
  readonly args: z.ZodType<Args>;
  /** Executes the tool. A returned string becomes an observation without reward. */
  readonly run: (args: Args) => string | Result;
}

/** Creates a tool. It refuses arguments that do not fit the schema, and gives the reason. */
export function tool<Args>({ name, description, args: schema, run }: ToolOptions<Args>): WorldTool {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema);
  return {
    definition: { type: 'function', function: { name, description, parameters } },
    call: (given) => {
      const result = schema.safeParse(given);
      if (!result.success) return refuse(`Wrong arguments. ${z.prettifyError(result.error)}`);
      const observed = run(result.data);
      return typeof observed === 'string' ? seen(observed) : observed;
    },
  };
}

/** Creates a step with an observation and no reward. */
export const seen = (observation: string): StepResult => ({ observation, reward: 0, done: false });

/** Creates the result that ends the episode. */
export const end = (reward: number, observation = 'Done.'): StepResult => ({
  observation,
  reward,
  done: true,
});

export interface ToolWorldOptions extends Omit<World, 'tools' | 'step'> {
  readonly tools: readonly WorldTool[];
  /** Handles text that the policy writes without calling a tool. */
  readonly say: (text: string) => Result;
}

export function toolWorld({ tools, say, ...world }: ToolWorldOptions): World {
  const byName = new Map(tools.map((each) => [each.definition.function.name, each]));
  return {
    ...world,
    tools: tools.map(({ definition }) => definition),
    step: (action) => {
      if (action.type === 'text') return say(action.text.trim());
      const called = byName.get(action.name);
      if (called !== undefined) return called.call(action.arguments);
      return refuse(`There is no tool ${action.name}. There are ${[...byName.keys()].join(', ')}.`);
    },
  };
}

export const toolAction = (name: string, args: Readonly<Record<string, unknown>>): Action => ({
  type: 'tool',
  name,
  arguments: args,
});
