/** The registries with everything that is built in. */
import { createRewardFn, rewardFnNames } from '@trinity-rft/reward';
import { defineWorkflow } from './define.js';
import { MathWorkflow } from './math-workflow.js';
import { reactWorkflow } from './react-workflow.js';
import { createRegistry, type Registry } from './registry.js';
import { SimpleWorkflow } from './simple-workflow.js';
import type { RewardDefinition, WorkflowDefinition } from './types.js';

const builtIn: readonly WorkflowDefinition[] = [
  defineWorkflow({ name: 'simple_workflow', workflow: SimpleWorkflow }),
  defineWorkflow({ name: 'math_workflow', workflow: MathWorkflow }),
  reactWorkflow,
];

/** A registry with the built-in workflows, and room for a run's own. */
export function createWorkflowRegistry(own: readonly WorkflowDefinition[] = []): Registry<WorkflowDefinition> {
  const registry = createRegistry<WorkflowDefinition>('workflow');
  for (const definition of [...builtIn, ...own]) registry.register(definition.name, definition);
  return registry;
}

/** A registry with the built-in reward functions, and room for a run's own. */
export function createRewardRegistry(own: readonly RewardDefinition[] = []): Registry<RewardDefinition> {
  const registry = createRegistry<RewardDefinition>('reward function');
  for (const name of rewardFnNames) {
    registry.register(name, { kind: 'trinity-rft.reward', name, create: (args) => createRewardFn(name, args) });
  }
  for (const definition of own) registry.register(definition.name, definition);
  return registry;
}
