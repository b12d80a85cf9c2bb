import { describeError, ModelError } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { errorResponse, stopping, withoutCause } from './error-response.js';

it('hides the message and the cause of a fault from clients', () => {
  const faults: unknown[] = [];
  const fault = new ModelError('No vLLM server answered: http://10.0.0.3:8000.', {
    status: 503,
    code: 'SAMPLER_TIMEOUT',
    retryable: true,
    details: { param: 'model' },
    cause: new Error('connect ECONNREFUSED 10.0.0.3:8000'),
  });
  const shown = withoutCause(fault, (error) => void faults.push(error));
  expect(describeError(shown)).toBe('The server failed to answer. Its log has the cause.');
  const { status, code, retryable, details } = fault;
  expect(shown).toMatchObject({ status, code, retryable, details });
  expect(faults).toEqual([fault]);
  expect(withoutCause(fault, undefined)).toBe(fault);
});

it('passes on errors that tell clients when to come back, and errors of clients', () => {
  const faults: unknown[] = [];
  const wrong = new ModelError('model is missing.', { status: 400 });
  for (const error of [stopping(), wrong])
    expect(withoutCause(error, (fault) => void faults.push(fault))).toBe(error);
  expect(faults).toEqual([]);
  expect(errorResponse(stopping()).headers.get('retry-after')).toBe('5');
});
