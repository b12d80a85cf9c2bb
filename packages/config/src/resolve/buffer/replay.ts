/** Resolves the rules for training on experiences again: by priority, or in several passes. */
import { numberArg, type ArgSpec } from '@trinity-rft/core';
import { milliseconds } from '../../schema/fields.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import { derivePart } from '../algorithm/parts.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import type { ReplayConfig } from '../base/resolved.js';

type BufferInput = RunInput['buffer']['trainer_input']['experience_buffer'];

const decay = numberArg(2, { min: 0 }, 'What each use takes from the priority.');
const priorityFns = {
  linear_decay: { args: { decay } },
  decay_limit_randomization: {
    args: {
      decay,
      useCountLimit: numberArg(3, { min: 0 }, 'Uses of an experience; 0 = any number.'),
      sigma: numberArg(0, { min: 0 }, 'Standard deviation of the noise.'),
    },
  },
} satisfies Readonly<Record<string, { readonly args: ArgSpec }>>;

/** Keys that apply only if the replay buffer is enabled. */
export const replayKeys = ['priority_fn', 'priority_fn_args', 'reuse_cooldown_time'] as const;

const priorityFnOf = (name: BufferInput['replay_buffer']['priority_fn']) =>
  name === 'linear_decay' ? name : 'decay_limit_randomization';

/**
 * Returns the rules for using experiences again. Returns undefined if each experience is used once,
 * in the order of arrival.
 */
export function deriveReplay(
  context: StageContext,
  section: KeyPath,
  { replay_buffer: input }: BufferInput,
): ReplayConfig | undefined {
  if (!input.enable) return undefined;
  const at = (key: string): KeyPath => [...section, 'replay_buffer', key];
  const place = {
    name: at('priority_fn'),
    args: at('priority_fn_args'),
    kind: 'priority function',
  };
  const name = priorityFnOf(input.priority_fn);
  const part = derivePart(context, place, priorityFns, { name, preset: undefined });
  const { reuse_cooldown_time: seconds } = input;
  const { sync_style: style } = context.input.synchronizer;
  if (seconds !== null && seconds > 0 && context.mode === 'both' && style === 'fixed')
    context.warn(
      at('reuse_cooldown_time'),
      `got ${seconds}: with sync_style fixed, what a batch repeats then depends on how long steps take, so two runs of one seed may differ. With 0 they are equal.`,
    );
  return {
    priorityFn: name,
    priorityFnArgs: part?.args ?? {},
    reuseCooldownMs: seconds === null ? undefined : milliseconds(seconds),
  };
}

/** Warns of the keys of a replay buffer that has no effect. */
export function noReplay(context: StageContext, section: KeyPath, why: string): void {
  sayIgnored(context, [...section, 'replay_buffer'], ['enable', ...replayKeys], why);
}
