/**
 * Watches the reward function of a rollout: adds the reasons that it returns to the experiences
 * that were scored, and reports since when it has not answered.
 */
import { withFields, type Clock, type Experience, type RewardFn } from '@trinity-rft/core';

export interface Reasons {
  /**
   * The reward function, wrapped to record its reasons. Undefined if there is no reward function.
   */
  readonly rewardFn: RewardFn | undefined;
  /**
   * Returns the time at which the oldest call began that the reward function has not answered, in
   * milliseconds on the clock, or undefined if there is none.
   */
  readonly scoringSince: () => number | undefined;
  /**
   * Returns the experiences of one rollout. Adds `info.reasons` to those whose response has been
   * scored.
   * @param run experiences in step order
   * @param isOnly true if no other rollout was scored. If no scored response matches the rollout's,
   * the last reasons are then added to its last step.
   */
  readonly addTo: (run: readonly Experience[], isOnly: boolean) => readonly Experience[];
}

type Texts = Readonly<Record<string, string>>;

export function listenForReasons(
  rewardFn: RewardFn | undefined,
  { now }: Pick<Clock, 'now'>,
): Reasons {
  const unanswered = new Set<{ readonly since: number }>();
  const byResponse = new Map<string, Texts>();
  let last: Texts | undefined;
  const add = (experience: Experience, reasons: Texts | undefined): Experience =>
    reasons ? withFields(experience, { info: { ...experience.info, reasons } }) : experience;
  return {
    rewardFn:
      rewardFn &&
      (async (input) => {
        const call = { since: now() };
        unanswered.add(call);
        try {
          const result = await rewardFn(input);
          last = textsIn(result);
          if (last) byResponse.set(input.response, last);
          return result;
        } finally {
          unanswered.delete(call);
        }
      }),
    scoringSince: () => [...unanswered][0]?.since,
    addTo: (run, isOnly) => {
      const reasonsOf = ({ responseText = '' }: Experience) => byResponse.get(responseText);
      if (run.some(reasonsOf) || !isOnly) return run.map((one) => add(one, reasonsOf(one)));
      return run.map((one, i) => (i === run.length - 1 ? add(one, last) : one));
    },
  };
}

/**
 * Returns the reasons that are strings. Other values are ignored here, and rejected where the
 * reward is read.
 */
function textsIn(result: unknown): Texts | undefined {
  const { reasons } = (result ?? {}) as { readonly reasons?: unknown };
  if (typeof reasons !== 'object' || reasons === null) return undefined;
  const texts = Object.entries(reasons).filter(([, text]) => typeof text === 'string');
  return texts.length === 0 ? undefined : (Object.fromEntries(texts) as Texts);
}
