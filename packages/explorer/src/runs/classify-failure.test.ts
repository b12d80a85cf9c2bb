import { ConfigError, ModelError, WorkflowError } from '@trinity-rft/core';
import { CancelledError, EngineError } from '@trinity-rft/core/internal';
import { describe, expect, it } from 'vitest';
import { classifyFailure, isOwnFailure, isWorthRetrying } from './classify-failure.js';

const withFields = (message: string, fields: object): Error =>
  Object.assign(new Error(message), fields);
const of = (error: unknown) => classifyFailure(error, 'w');

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
    ['a workflow that sets no reward', new WorkflowError('no reward', { code: 'REWARD_MISSING' })],
  ])('does not repeat %s', (_, error) => {
    expect(isWorthRetrying(of(error).error)).toBe(false);
  });

  it.each([
    ['an engine fault', new EngineError('gone', { code: 'ENGINE_CLOSED' })],
    ['a 500 of the openai package', withFields('500 gone', { status: 500, code: null })],
    ['a 503 of the AI SDK', withFields('gone', { statusCode: 503, data: undefined })],
    ['a busy server', withFields('429 paused', { status: 429, code: 'paused' })],
  ])('does not put %s down to the agent, and tries again', (_, error) => {
    const failure = of(new Error('agent', { cause: error }));
    expect(failure.kind).toBe('failed');
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

  it('knows a deadline, and ends where causes go in circles', () => {
    expect(
      of(new Error('agent', { cause: new CancelledError('late', { reason: 'timeout' }) })).kind,
    ).toBe('timed_out');
    const [a, b] = [new Error('a'), new Error('b')];
    [a.cause, b.cause] = [b, a];
    expect(of(a).error.code).toBe('WORKFLOW_THREW');
  });
});
