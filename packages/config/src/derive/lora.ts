/** The adapter that is trained instead of the weights themselves. */
import type { LoraConfig } from '../resolved.js';
import { linearModules } from '../schema/model.js';
import type { KeyPath } from '../tree/node.js';
import type { StageContext } from './context.js';

const section: KeyPath = ['model', 'lora_configs'];

export function deriveLora(context: StageContext): LoraConfig | undefined {
  const [input, ...others] = context.input.model.lora_configs ?? [];
  if (input === undefined) return undefined;
  if (others.length > 0) context.report([...section, 1], 'is a second adapter. One is trained at a time; keep one of them.');
  const excluded: readonly string[] = input.exclude_modules ?? [];
  const all = input.target_modules.includes('all-linear');
  const targets = (all ? linearModules : input.target_modules).filter((name) => !excluded.includes(name));
  if (targets.length === 0)
    context.report([...section, 0, 'exclude_modules'], 'leaves no layer with an adapter. Name fewer, or remove the key.', [
      [...section, 0, 'target_modules'],
    ]);
  return {
    name: input.name ?? undefined,
    rank: input.lora_rank,
    alpha: input.lora_alpha,
    targetModules: all && excluded.length === 0 ? 'all-linear' : targets,
  };
}
