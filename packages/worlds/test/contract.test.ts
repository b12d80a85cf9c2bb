import { checkEnvironment } from '@trinity-rft/environment';
import { expect, it } from 'vitest';
import { builtInEnvironments } from '../src/index.js';

it.each(builtInEnvironments.filter(({ tasks }) => tasks !== undefined))(
  '$name keeps to the contract of environments',
  async (definition) => {
    const results = await checkEnvironment(definition);
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(results.find(({ name }) => name.startsWith('its solver'))?.outcome).toBe('passed');
  },
);
