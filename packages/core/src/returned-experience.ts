import { types } from 'node:util';
import { copyOf } from './copy-of.js';
import { describeError } from './errors.js';
import {
  assertAligned,
  readMask,
  readTokens,
  type CallSpan,
  type Experience,
} from './experience.js';
import type { Returned } from './returned.js';
import { usableReward } from './reward.js';

const longestId = 200;

const experienceFields = [
  'eid',
  'tokens',
  'promptLength',
  'actionMask',
  'logprobs',
  'policyVersion',
  'temperature',
  'reward',
  'tokenRewards',
  'advantages',
  'returns',
  'teacherLogprobs',
  'spans',
  'truncateStatus',
  'promptText',
  'responseText',
  'metrics',
  'info',
] as const satisfies readonly (keyof Experience)[];

/**
 * Checks an experience that user code returned, field by field, and returns a copy.
 * @throws the errors that `refuse` and, for misaligned arrays, `unusable` create
 */
export function readExperience(
  value: unknown,
  { refuse, unusable, fields, metrics, info, text }: Returned,
): Experience {
  const form = 'an experience, as createExperience makes it';
  const given = fields(value, experienceFields, form);
  if (given.eid === undefined) throw refuse(value, `${form}, with an eid`);
  const eid = fields(given.eid, ['batch', 'task', 'run', 'step', 'suffix'], 'an object as eid');
  const id = (name: 'batch' | 'task' | 'suffix'): string | number => {
    const part = eid[name];
    if (typeof part === 'number' && Number.isInteger(part)) return part;
    return text(part, ` as eid.${name}`, longestId);
  };
  const integer = (part: unknown, at: string, least: number): number => {
    if (Number.isInteger(part) && (part as number) >= least) return part as number;
    throw refuse(part, `an integer of at least ${least}`, at);
  };
  const numbers = (name: (typeof experienceFields)[number]): ArrayLike<number> => {
    const list = given[name];
    // The values of a BigInt64Array cannot be converted to numbers.
    const isList = types.isTypedArray(list)
      ? !(types.isBigInt64Array(list) || types.isBigUint64Array(list))
      : Array.isArray(list) && !list.some((value) => typeof value === 'bigint');
    if (isList) return list as ArrayLike<number>;
    throw refuse(list, 'numbers, one per token', ` as ${name}`);
  };
  const floats = (name: (typeof experienceFields)[number]): Float32Array | undefined =>
    given[name] === undefined ? undefined : Float32Array.from(numbers(name));
  const optional = (name: 'promptText' | 'responseText'): object =>
    given[name] === undefined ? {} : { [name]: text(given[name], ` as ${name}`) };
  const { temperature, reward } = given;
  if (typeof temperature !== 'number' || !(temperature >= 0))
    throw refuse(temperature, 'a number of at least 0', ' as temperature');
  const experience: Experience = {
    eid: {
      batch: id('batch'),
      task: id('task'),
      run: integer(eid.run, ' as eid.run', 0),
      step: integer(eid.step, ' as eid.step', 0),
      suffix: text(eid.suffix, ' as eid.suffix', longestId),
    },
    tokens: readTokens(numbers('tokens'), (id, at) =>
      refuse(id, 'a token id of the model', ` as token ${at} of an experience`),
    ),
    promptLength: integer(given.promptLength, ' as promptLength', 1),
    actionMask: readMask(numbers('actionMask'), (bit, at) =>
      refuse(bit, '0 or 1', ` as entry ${at} of actionMask`),
    ),
    logprobs: Float32Array.from(numbers('logprobs')),
    policyVersion: integer(given.policyVersion, ' as policyVersion', -1),
    temperature,
    ...(reward !== undefined && {
      reward: typeof reward === 'boolean' ? Number(reward) : (reward as number),
    }),
    ...Object.fromEntries(
      (['tokenRewards', 'advantages', 'returns', 'teacherLogprobs'] as const)
        .map((name) => [name, floats(name)] as const)
        .filter(([, list]) => list !== undefined),
    ),
    ...(given.spans !== undefined && { spans: spansOf(given.spans, refuse) }),
    ...(given.truncateStatus !== undefined && {
      truncateStatus: given.truncateStatus as Experience['truncateStatus'],
    }),
    ...optional('promptText'),
    ...optional('responseText'),
    metrics: metrics(given.metrics),
    info: info(given.info),
  };
  if (reward !== undefined && typeof experience.reward !== 'number')
    throw refuse(reward, usableReward, ' as the reward of an experience');
  try {
    assertAligned(experience);
  } catch (error) {
    throw unusable(describeError(error));
  }
  return experience;
}

function spansOf(spans: unknown, refuse: Returned['refuse']): readonly CallSpan[] {
  if (Array.isArray(spans) && spans.every((span) => typeof span === 'object' && span !== null))
    return copyOf(spans as readonly CallSpan[]);
  throw refuse(spans, 'a list of calls', ' as spans');
}
