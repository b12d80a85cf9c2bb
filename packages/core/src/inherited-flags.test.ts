import { afterEach, expect, it, vi } from 'vitest';
import { inheritedFlags } from './inherited-flags.js';

afterEach(() => vi.restoreAllMocks());

it.each([
  ['-C x --import=a', undefined],
  ['--input-type=module -C x --import=a', '-C x --import=a'],
  ['--input-type module -r a --require=b --loader c -e 1', '-r a --require=b --loader c'],
  ['--max-old-space-size=9 --input-type=module --eval 1 -C=x', '-C=x'],
])('of %s are %s', (flags, inherited) => {
  vi.spyOn(process, 'execArgv', 'get').mockReturnValue(flags.split(' '));
  expect(inheritedFlags().execArgv?.join(' ')).toBe(inherited);
});
