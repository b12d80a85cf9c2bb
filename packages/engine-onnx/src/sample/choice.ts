/** Choices and requests. A choice is one of the sequences that are sampled for a request. */
import { type Random, type TrinityError, createRandom, deriveSeed } from '@trinity-rft/core';
import type { SampledSequence, SampleStop, TokenLogprob } from '@trinity-rft/core/engine';

import type { TokenBytes } from '../model/token-bytes.js';
import type { AnswerConstraint, ConstraintFactory } from './constraint/constraint.js';
import type { NewPositions } from '../runtime/graph-runtime.js';
import type { KvOwner, KvPool } from './kv-pool.js';
import type { SamplePlan } from './plan.js';
import { createStopMatcher, type StopMatcher } from './stop-matcher.js';

export interface Request {
  readonly plan: SamplePlan;
  /** Indices of the choices that have no row and no result yet. */
  readonly waiting: number[];
  /** Maximum number of tokens that each choice had when its row was taken back, or 0. */
  readonly drawn: number[];
  /**
   * Version of the weights for all choices of the request; set when the first choice gets a row.
   */
  policyVersion: number;
  /** Keys, values and states of the prompt, kept while choices still wait for a row. */
  prefix?: PromptCache | undefined;
  readonly results: (SampledSequence | undefined)[];
  /** True once the request has completed, failed or been cancelled. Later results are discarded. */
  settled: boolean;
  /** Called once for every token of the result. */
  readonly onToken?: TokenReport;
  readonly resolve: (sequences: readonly SampledSequence[]) => void;
  readonly reject: (error: TrinityError) => void;
}

/** Receives a sampled token. `choice` is an index among all choices of the caller's request. */
export type TokenReport = (choice: number, token: number) => void;

/** A row in the result of one prefill execution. */
interface PromptCache {
  readonly data: NewPositions;
  readonly index: number;
  /** Called once, when the request no longer needs the row. */
  readonly release: () => void;
}

export interface Choice extends KvOwner {
  readonly request: Request;
  readonly index: number;
  readonly random: Random;
  readonly matcher?: StopMatcher;
  readonly constraint?: AnswerConstraint;
  /** The most recent token, which the next decoding step reads. */
  newest: number;
  readonly tokens: number[];
  readonly logprobs: number[];
  readonly top: (readonly TokenLogprob[])[];
  finished: boolean;
}

/** Data that is derived from the byte strings of the engine's tokens. */
export interface TokenTexts {
  readonly tokenBytes: TokenBytes;
  readonly constraints: ConstraintFactory;
}

/**
 * Creates a choice of a request. The choice draws one random number per token from the stream
 * (seed, k), where k is its index among all choices of the caller's request.
 */
export function createChoice(
  request: Request,
  index: number,
  pool: KvPool,
  texts: TokenTexts | undefined,
): Choice {
  const { plan } = request;
  return {
    request,
    index,
    random: createRandom(deriveSeed(plan.seed, plan.firstChoice + index)),
    matcher:
      plan.stops.length > 0 && texts ? createStopMatcher(plan.stops, texts.tokenBytes) : undefined,
    constraint: plan.grammar && texts?.constraints.begin(plan.grammar),
    newest: plan.prompt.at(-1)!,
    tokens: [],
    logprobs: [],
    top: [],
    finished: false,
    cached: 0,
    pool,
    row: -1,
  };
}

/**
 * Appends a sampled token. Finishes the choice if it is complete, and the request if all of its
 * choices are complete.
 */
export function acceptToken(
  choice: Choice,
  token: number,
  logprob: number,
  top: readonly TokenLogprob[] | undefined,
): void {
  const { plan, onToken } = choice.request;
  // A choice that restarts draws the same tokens again; those were already reported.
  if (choice.tokens.length >= choice.request.drawn[choice.index]!)
    onToken?.(plan.firstChoice + choice.index, token);
  choice.newest = token;
  choice.tokens.push(token);
  choice.logprobs.push(logprob);
  if (top !== undefined) choice.top.push(top);
  const matched = choice.matcher?.push(token);
  if (!plan.stopTokenIds.has(token)) choice.constraint?.push(token);
  const mayStop = choice.tokens.length >= plan.minTokens;
  if (plan.stopTokenIds.has(token)) finish(choice, 'stop');
  else if (matched !== undefined && mayStop) finish(choice, 'stop', matched);
  else if (choice.tokens.length >= plan.maxTokens) finish(choice, 'length');
}

function finish(choice: Choice, stopReason: SampleStop, stopString?: string): void {
  const { request } = choice;
  choice.finished = true;
  request.results[choice.index] = {
    tokens: Int32Array.from(choice.tokens),
    logprobs: Float32Array.from(choice.logprobs),
    stopReason,
    stopString,
    topLogprobs: request.plan.topLogprobs > 0 ? choice.top : undefined,
    policyVersion: request.policyVersion,
  };
  if (request.settled || request.results.includes(undefined)) return;
  request.settled = true;
  request.resolve(request.results as SampledSequence[]);
}

/** Rejects a request. Its rows are freed after the current decoding step. */
export function failRequest(request: Request, error: TrinityError): void {
  if (request.settled) return;
  request.settled = true;
  releasePrefix(request);
  request.reject(error);
}

export function releasePrefix(request: Request): void {
  request.prefix?.release();
  request.prefix = undefined;
}

export function isDone(choice: Choice): boolean {
  return choice.finished || choice.request.settled;
}
