import { builtInTables } from '@trinity-rft/algorithm';
import { expect, it } from 'vitest';
import { engines } from '../../test/workspace.js';
import { allKeys } from '../schema/introspect.js';
import { schemasOf } from '../schema/root.js';
import { isSecretKey } from './secrets.js';

it('redacts these keys of the schema and no others', () => {
  const { run } = schemasOf({ algorithms: builtInTables, engines });
  const secret = [...allKeys(run).keys()].filter(isSecretKey);
  expect(secret.toSorted()).toEqual(['api_key']);
});
