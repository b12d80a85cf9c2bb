import { expect, it } from 'vitest';
import { setEnvironment, variablesOf } from './environment.js';

const [added, kept, unset] = ['TRINITY_ADDED', 'TRINITY_KEPT', 'TRINITY_UNSET'];

it('gives workflows the environment of the run and its env_vars, and restores what it changed', () => {
  process.env[kept] = 'old';
  const variables = variablesOf(
    { explorer: { envVars: { [kept]: 'new' } } as never },
    { [added]: 'given', [kept]: 'given', [unset]: undefined },
  );
  const restore = setEnvironment(variables);
  expect([added, kept, unset].map((name) => process.env[name])).toEqual([
    'given',
    'new',
    undefined,
  ]);
  restore();
  expect([added, kept, unset].map((name) => process.env[name])).toEqual([
    undefined,
    'old',
    undefined,
  ]);
  delete process.env[kept];
});

it('leaves variables that do not differ as a workflow changes them', () => {
  process.env[kept] = 'same';
  const restore = setEnvironment({ ...process.env });
  process.env[kept] = 'changed by a workflow';
  restore();
  expect(process.env[kept]).toBe('changed by a workflow');
  delete process.env[kept];
});
