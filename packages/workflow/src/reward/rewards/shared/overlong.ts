/** Computes the penalty for long responses from their number of tokens. */
import { ConfigError } from '@trinity-rft/core';

/** Lengths in tokens; `maxResponseLength > cacheLength >= 0`. */
export interface OverlongOptions {
  readonly maxResponseLength: number;
  /**
   * Number of tokens below the maximum length over which the penalty grows from 0 to its maximum.
   */
  readonly cacheLength: number;
  /** Maximum penalty, at least 0. */
  readonly penaltyFactor: number;
}

/**
 * Computes the soft overlong punishment. With L = maxResponseLength, c = cacheLength and f =
 * penaltyFactor, it is 0 up to L - c tokens, decreases linearly to -f at L tokens, and is -f
 * beyond. Source: DAPO, arXiv:2503.14476, equation 13.
 */
export function overlongPenalty(
  tokens: number,
  { maxResponseLength, cacheLength, penaltyFactor }: OverlongOptions,
): number {
  const free = maxResponseLength - cacheLength;
  if (tokens <= free) return 0;
  return tokens > maxResponseLength
    ? 0 - penaltyFactor
    : ((free - tokens) / cacheLength) * penaltyFactor;
}

interface GivenLengths {
  readonly max_response_length: number | undefined;
  readonly cache_length: number | undefined;
  readonly penalty_factor: number | undefined;
}

/**
 * Returns the options for {@link overlongPenalty} from the arguments of a reward function.
 * @throws ConfigError if an argument is missing, or if `cache_length` is not below
 * `max_response_length`
 */
export function readOverlong(owner: string, given: GivenLengths): OverlongOptions {
  const {
    max_response_length: maxResponseLength,
    cache_length: cacheLength,
    penalty_factor: penaltyFactor,
  } = given;
  if (maxResponseLength === undefined || cacheLength === undefined || penaltyFactor === undefined) {
    throw new ConfigError(
      `The overlong penalty of ${owner} needs max_response_length, cache_length and ` +
        'penalty_factor. Set all three.',
      { code: 'REWARD_LENGTHS_MISSING' },
    );
  }
  if (cacheLength >= maxResponseLength) {
    throw new ConfigError(
      `cache_length of ${owner} is ${cacheLength} and max_response_length ${maxResponseLength}; ` +
        'expected a smaller cache_length, because the penalty starts that many tokens before the maximum.',
      { code: 'REWARD_LENGTHS_INVALID' },
    );
  }
  return { maxResponseLength, cacheLength, penaltyFactor };
}
