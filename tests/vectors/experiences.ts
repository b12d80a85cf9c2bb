// Cases of ids, records, merging, and the layout of train batches.
import {
  createExperience,
  runKey,
  type Eid,
  type Experience,
  type ExperienceInit,
  groupBy,
  taskKey,
  uid,
} from '../../packages/core/src/index.ts';
import { mergeCalls, stepKey } from '../../packages/core/src/internal.ts';
import { packBatch } from '../../packages/trainer/src/step/pack.ts';
import { expectSame } from './compare.ts';
import { maskOf, type Matrix } from './inputs.ts';
import type { VectorCase } from './suite.ts';

const eidOf = (text: string): Eid => {
  const [batch, task, run, step, suffix = ''] = text.split('/');
  return { batch: batch!, task: task!, run: Number(run), step: Number(step), suffix };
};

interface EidVectors {
  readonly cases: readonly (Partial<Eid> &
    Readonly<Record<'uid' | 'sid' | 'rid' | 'tid' | 'str', string>>)[];
}

/**
 * Cases of experience ids. Cases that state only defaults are left out: they are about random ids, and our ids are set
 * by the run.
 */
export function eid({ cases }: EidVectors): readonly VectorCase[] {
  return cases
    .filter((vector) => vector.uid !== undefined)
    .map(({ uid: whole, sid, rid, tid, str, ...id }) => ({
      id: `eid/${whole}`,
      run: () => {
        const given = id as Eid;
        const found = {
          uid: uid(given),
          sid: stepKey(given),
          rid: runKey(given),
          tid: taskKey(given),
          str: uid(given),
        };
        expectSame(found, { uid: whole, sid, rid, tid, str });
      },
    }));
}

interface ConstructionVector {
  readonly in: {
    readonly tokens: readonly number[];
    readonly prompt_length?: number;
    readonly logprobs?: readonly number[];
    readonly action_mask?: readonly number[];
    readonly reward?: number;
    readonly truncate_status?: Experience['truncateStatus'];
    readonly chosen?: readonly number[];
    readonly rejected?: readonly number[];
  };
  readonly out: {
    readonly action_mask?: readonly number[] | string;
    readonly prompt_length?: number;
    readonly error?: string;
  };
}

/**
 * Cases of constructing experiences. Where Trinity-RFT accepts misaligned input (log-probabilities
 * above 0, a mask of another length, a truncated prompt with a sampled response), our function
 * throws, and the case passes if the error names the field.
 */
export function construction(vectors: readonly ConstructionVector[]): readonly VectorCase[] {
  return vectors.map(({ in: given, out }, i) => ({
    id: `experience_construction/${i}`,
    run: () => {
      const {
        tokens,
        prompt_length: promptLength = 1,
        logprobs,
        action_mask: actionMask,
        reward,
        truncate_status: truncateStatus,
      } = given;
      if (given.chosen)
        return expectSame(
          experienceRows(given as Row, 0)[0]!.promptLength,
          out.prompt_length ?? tokens.length,
        );
      const made = attempt(() =>
        createExperience({
          tokens,
          promptLength,
          // Some of Trinity-RFT's tests have positive log-probabilities, which our experiences
          // reject.
          ...(logprobs && { logprobs: logprobs.map((value) => -Math.abs(value)) }),
          ...(actionMask
            ? { actionMask }
            : truncateStatus === 'prompt_truncated' && {
                actionMask: tokens.slice(promptLength).map(() => 0),
              }),
          ...(reward !== undefined && { reward }),
          ...(truncateStatus && { truncateStatus }),
        }),
      );
      const unaligned =
        actionMask !== undefined && actionMask.length !== tokens.length - promptLength;
      if (out.error !== undefined || unaligned)
        return expectSame(
          made instanceof Error && /promptLength|entries/.test(made.message),
          true,
          0,
          'rejected',
        );
      if (made instanceof Error) throw made;
      const { action_mask: mask } = out;
      return expectSame(made, {
        actionMask: typeof mask === 'string' ? maskOf(mask, [[...made.actionMask]])[0] : mask,
        promptLength: out.prompt_length ?? promptLength,
      });
    },
  }));
}

function attempt(make: () => Experience): Experience | Error {
  try {
    return make();
  } catch (error) {
    return error as Error;
  }
}

interface GroupVectors {
  readonly experiences: readonly string[];
  readonly task: Readonly<Record<string, readonly number[]>>;
  readonly run: Readonly<Record<string, readonly number[]>>;
  readonly step: Readonly<Record<string, readonly number[]>>;
}

export function groups({ experiences, ...expected }: GroupVectors): readonly VectorCase[] {
  const ids = experiences.map(eidOf);
  return (['task', 'run', 'step'] as const).map((kind) => ({
    id: `group_by/${kind}`,
    run: () => {
      const keyOf = { task: taskKey, run: runKey, step: stepKey }[kind];
      const found = groupBy(
        ids.map((id, i) => ({ id, i })),
        ({ id }) => keyOf(id),
      );
      expectSame(
        Object.fromEntries([...found].map(([key, members]) => [key, members.map(({ i }) => i)])),
        expected[kind],
      );
    },
  }));
}

interface MergeVector {
  readonly first?: {
    readonly tokens: readonly number[];
    readonly prompt_length: number;
    readonly logprobs: readonly number[];
  };
  readonly second?: MergeVector['first'];
  readonly merged?: {
    readonly prompt_length: number;
    readonly action_mask: readonly number[];
    readonly logprobs: readonly number[];
    readonly merged_turn_count: number;
  };
  readonly tokens?: readonly (readonly number[])[];
  readonly same_prompt_length?: number;
}

export function merging({
  cases,
}: {
  readonly cases: readonly MergeVector[];
}): readonly VectorCase[] {
  return cases.map(
    ({ first, second, merged, tokens, same_prompt_length: promptLength = 1 }, i) => ({
      id: `prefix_merge/${i}`,
      run: () => {
        const calls =
          first && second
            ? [first, second]
            : tokens!.map((row) => ({
                tokens: row,
                prompt_length: promptLength,
                logprobs: undefined,
              }));
        const experiences = calls.map(({ tokens: row, prompt_length, logprobs }, step) =>
          createExperience({
            tokens: row,
            promptLength: prompt_length,
            ...(logprobs && { logprobs }),
            temperature: 1,
            eid: { step, suffix: String(step) },
          }),
        );
        const { experiences: found } = mergeCalls(experiences);
        if (!merged) return expectSame(found.length, experiences.length, 0, 'sequences');
        const [one] = found;
        expectSame(found.length, 1, 0, 'sequences');
        const { promptLength: length, actionMask, logprobs, spans, eid: id } = one!;
        return expectSame(
          { promptLength: length, actionMask, logprobs, turns: spans?.length, suffix: id.suffix },
          {
            promptLength: merged.prompt_length,
            actionMask: merged.action_mask,
            logprobs: merged.logprobs,
            turns: merged.merged_turn_count,
            suffix: '1',
          },
        );
      },
    }),
  );
}

interface CollateVector {
  readonly id: string;
  readonly pad_token_id: number;
  readonly experiences: readonly (Readonly<Record<string, unknown>> & {
    readonly tokens: readonly number[];
  })[];
  readonly batch: Readonly<Record<string, Matrix>>;
}

/**
 * Cases of collating a batch. Our batches are packed without padding, so rows of the engine and of the loss are copied
 * into matrices for the comparison. Rewards, which are per row in our batches, are put on the last response token.
 */
export function collation(vectors: readonly CollateVector[]): readonly VectorCase[] {
  return vectors.map(({ id, pad_token_id: pad, experiences, batch }) => ({
    id: `collate/${id}`,
    run: () => expectSame(padded(experiences.flatMap(experienceRows), pad), batch),
  }));
}

type Row = CollateVector['experiences'][number];

/** Rows of a pair: prompt + chosen, prompt + rejected. */
function experienceRows(vector: Row, row: number): readonly Experience[] {
  const {
    tokens,
    prompt_length,
    logprobs,
    action_mask,
    reward,
    token_level_reward,
    advantages,
    chosen,
    rejected,
    info,
    eid: id,
  } = vector;
  if (chosen) {
    return [chosen, rejected].map((answer) =>
      createExperience({
        tokens: [...tokens, ...(answer as number[])],
        promptLength: tokens.length,
      }),
    );
  }
  const init: ExperienceInit = {
    tokens,
    promptLength: prompt_length as number,
    logprobs: logprobs as number[],
    ...(action_mask !== undefined && { actionMask: action_mask as number[] }),
    reward: reward as number,
    ...(token_level_reward !== undefined && { tokenRewards: token_level_reward as number[] }),
    eid: id === undefined ? { run: row } : eidOf(id as string),
    policyVersion: ((info as { readonly model_version?: number } | undefined)?.model_version ??
      0) as number,
  };
  const experience = createExperience(init);
  return [
    advantages === undefined
      ? experience
      : { ...experience, advantages: Float32Array.from(advantages as number[]) },
  ];
}

function padded(experiences: readonly Experience[], pad: number): Readonly<Record<string, Matrix>> {
  const { tokens, static: columns } = packBatch(experiences);
  const prompts = tokens.rows.map((row) => row.promptLength);
  const [left, right] = [
    Math.max(...prompts),
    Math.max(...tokens.rows.map((row) => row.tokens.length - row.promptLength)),
  ];
  const wide = (value: (row: number, position: number, length: number) => number): number[][] =>
    tokens.rows.map((row, i) =>
      Array.from({ length: left + right }, (_, column) =>
        value(i, column - left + row.promptLength, row.tokens.length),
      ),
    );
  const isReal = (position: number, length: number): boolean => position >= 0 && position < length;
  const ids = wide((row, position, length) =>
    isReal(position, length) ? tokens.rows[row]!.tokens[position]! : pad,
  );
  const response = (values: ArrayLike<number>): number[][] =>
    tokens.rows.map((_, i) =>
      Array.from({ length: right }, (_unused, t) =>
        columns.offsets[i]! + t < columns.offsets[i + 1]! ? values[columns.offsets[i]! + t]! : 0,
      ),
    );
  const scores = experiences.map(({ reward = 0, tokenRewards, tokens: all, promptLength }) => {
    const length = all.length - promptLength;
    return Array.from({ length: right }, (_, t) =>
      tokenRewards ? (tokenRewards[t] ?? 0) : t === length - 1 ? reward : 0,
    );
  });
  const advantages = response(columns.advantages);
  return {
    input_ids: ids,
    responses: ids.map((row) => row.slice(left)),
    attention_mask: wide((_, position, length) => (isReal(position, length) ? 1 : 0)),
    position_ids: wide((_, position, length) => Math.min(Math.max(position, 0), length - 1)),
    response_mask: response(columns.actionMask),
    token_level_scores: scores,
    rollout_log_probs: response(columns.oldLogprobs),
    advantages,
    returns: advantages,
  };
}

interface DatumVector {
  readonly in: {
    readonly tokens: readonly number[];
    readonly prompt_length: number;
    readonly action_mask: readonly number[];
    readonly reward: number;
  };
  readonly out: Readonly<Record<string, readonly number[]>>;
}

/** Cases of Tinker's form of a row: by the alignment rule of `Experience`, targets are the tokens shifted by one. */
export function tinkerDatum({ in: given, out }: DatumVector): readonly VectorCase[] {
  const run = (): void => {
    const { tokens, promptLength, actionMask, reward } = createExperience({
      tokens: given.tokens,
      promptLength: given.prompt_length,
      actionMask: given.action_mask,
      reward: given.reward,
    });
    const weights = [...new Uint8Array(promptLength - 1), ...actionMask];
    const scores = Array.from(actionMask, (_, t) => (t === actionMask.length - 1 ? reward! : 0));
    expectSame(
      {
        model_input: tokens.subarray(0, -1),
        target_tokens: tokens.subarray(1),
        weights,
        token_level_scores: scores,
      },
      out,
    );
  };
  return [{ id: 'tinker_datum', run }];
}

interface AlignmentVector {
  readonly in: {
    readonly tokens: readonly number[];
    readonly prompt_length: number;
    readonly action_mask: readonly number[];
    readonly old_logprob: readonly number[];
    readonly advantages: readonly number[];
    readonly ref_logprob: readonly number[];
  };
  readonly out: Readonly<Record<string, readonly number[]>>;
}

/** Cases of columns over all targets, which are 0 on prompt positions and where the mask is 0. */
export function tinkerAlignment({ in: given, out }: AlignmentVector): readonly VectorCase[] {
  const run = (): void => {
    const experience = createExperience({
      tokens: given.tokens,
      promptLength: given.prompt_length,
      actionMask: given.action_mask,
      logprobs: given.old_logprob,
    });
    const { static: columns } = packBatch([
      { ...experience, advantages: Float32Array.from(given.advantages) },
    ]);
    const aligned = (values: ArrayLike<number>): number[] => [
      ...Array.from({ length: given.prompt_length - 1 }, () => 0),
      ...Array.from(values, (value, t) => value * columns.actionMask[t]!),
    ];
    const found = {
      target_tokens: experience.tokens.subarray(1),
      weights: aligned(columns.actionMask),
      logprobs: aligned(columns.oldLogprobs),
      advantages: aligned(columns.advantages),
      ref_logprobs: aligned(given.ref_logprob),
    };
    expectSame(found, out);
  };
  return [{ id: 'tinker_server_loss_alignment', run }];
}

interface LogprobCheck {
  readonly ok_case: {
    readonly logprobs: Matrix;
    readonly rollout_log_probs: Matrix;
    readonly response_mask: Matrix;
  };
}

/** Cases of log-probabilities: complete ones are copied, others are rejected. */
export function logprobCheck({
  ok_case: { logprobs, rollout_log_probs, response_mask },
}: LogprobCheck): readonly VectorCase[] {
  const make = (row: readonly number[], length = row.length): Experience =>
    createExperience({
      tokens: Array.from({ length: length + 1 }, () => 1),
      promptLength: 1,
      logprobs: row,
    });
  return [
    {
      id: 'collate_logprob_check/ok',
      run: () =>
        expectSame(
          padded(
            logprobs.map((row) => make(row)),
            0,
          ),
          { rollout_log_probs, response_mask },
        ),
    },
    ...logprobs.map((row, i) => ({
      id: `collate_logprob_check/partial/${i}`,
      run: () =>
        expectSame(
          attempt(() => make(row.slice(1), row.length)) instanceof Error,
          true,
          0,
          'rejected',
        ),
    })),
  ];
}
