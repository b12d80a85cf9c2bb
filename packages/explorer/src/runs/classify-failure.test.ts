import {
  ConfigError,
  ModelError,
  RewardError,
  WorkflowError,
  CancelledError,
  EngineError,
} from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { classifyFailure, isOwnFailure, isWorthRetrying } from './classify-failure.js';

const withFields = (message: string, fields: object): Error =>
  Object.assign(new Error(message), fields);
const own = { elapsedMs: 1000, longestPauseMs: 499 };
const kept = { elapsedMs: 1000, longestPauseMs: 500 };
const of = (error: unknown, spent = own) => classifyFailure(error, 'w', spent);

describe('classifyFailure', () => {
  it.each([
    ['of ours', new ModelError('too long', { status: 400, code: 'context_length_exceeded' })],
    [
      'of the openai package',
      withFields('too long', { status: 400, code: 'context_length_exceeded' }),
    ],
    [
      'of the AI SDK',
      withFields('too long', {
        statusCode: 400,
        data: { error: { code: 'context_length_exceeded' } },
      }),
    ],
    [
      'of a framework around one',
      new Error('agent', {
        cause: withFields('too long', { status: 400, code: 'context_length_exceeded' }),
      }),
    ],
  ])('finds a prompt that is too long in an error %s, and does not try it again', (_, error) => {
    const failure = of(error);
    expect(failure.kind).toBe('prompt_too_long');
    expect([isOwnFailure(failure), isWorthRetrying(failure.error)]).toEqual([true, false]);
  });

  it.each([
    [
      'an argument that is wrong',
      new ConfigError('workflow_args.max_turns is 0', { code: 'ARGUMENT_INVALID' }),
    ],
    ['an assertion without a value', new RewardError('no value', { code: 'SCORER_FORM' })],
    [
      'a refusal of an external model',
      withFields('401 The external model "m" at host answered 401', { status: 401 }),
    ],
    ['a workflow that sets no reward', new WorkflowError('no reward', { code: 'REWARD_MISSING' })],
  ])('does not repeat %s', (_, error) => {
    const failure = of(error);
    expect([isOwnFailure(failure), isWorthRetrying(failure.error)]).toEqual([false, false]);
  });

  it('takes a bad request to an external model for the fault of the agent', () => {
    const failure = of(withFields('400 The external model "m" answered 400', { status: 400 }));
    expect(isOwnFailure(failure)).toBe(true);
  });

  it.each([
    ['an engine fault', new EngineError('gone', { code: 'ENGINE_CLOSED' }), 'failed'],
    [
      'a 500 of the openai package',
      withFields('500 gone', { status: 500, code: null }),
      'service_failed',
    ],
    [
      'a 503 of the AI SDK',
      withFields('gone', { statusCode: 503, data: undefined }),
      'service_failed',
    ],
    ['a busy server', withFields('429 paused', { status: 429, code: 'paused' }), 'service_failed'],
    [
      'a tool that refuses the connection',
      withFields('refused', { code: 'ECONNREFUSED' }),
      'service_failed',
    ],
    [
      'a service that sends nothing',
      withFields('late', { code: 'UND_ERR_HEADERS_TIMEOUT' }),
      'service_failed',
    ],
    [
      'a service whose deadline has passed',
      new CancelledError('late', { reason: 'timeout' }),
      'service_failed',
    ],
  ])('does not put %s down to the agent, and tries again', (_, error, kind) => {
    const failure = of(new Error('agent', { cause: error }));
    expect(failure.kind).toBe(kind);
    expect([isOwnFailure(failure), isWorthRetrying(failure.error)]).toEqual([false, true]);
  });

  it.each([
    ['an error of its own', new TypeError('unknown tool')],
    [
      'a request that the endpoint rejects',
      withFields('400 messages[0].role is wrong', { status: 400, code: 'invalid_request' }),
    ],
    ['no error at all', 'thrown text'],
  ])('puts %s down to the agent', (_, error) => {
    const failure = of(error);
    expect(failure.error).toMatchObject({ code: 'WORKFLOW_THREW', cause: error });
    expect(isOwnFailure(failure)).toBe(true);
  });

  it.each([
    ['the deadline of the attempt', 'timed_out', { reason: 'timeout', code: 'ATTEMPT_TIMEOUT' }],
    ['a timeout of the agent', 'failed', undefined],
  ] as const)(
    'puts %s down to the agent, unless one wait for something else took half of the time',
    (_, kind, late) => {
      const error = late
        ? new CancelledError('late', late)
        : Object.assign(new Error('late'), { name: 'TimeoutError' });
      const [failure, other] = [of(error, own), of(error, kept)];
      expect([failure.kind, other.kind]).toEqual([kind, 'service_failed']);
      expect([isOwnFailure(failure), isOwnFailure(other)]).toEqual([true, false]);
    },
  );

  it('ends where causes go in circles', () => {
    const [a, b] = [new Error('a'), new Error('b')];
    [a.cause, b.cause] = [b, a];
    expect(of(a).error.code).toBe('WORKFLOW_THREW');
  });
});
