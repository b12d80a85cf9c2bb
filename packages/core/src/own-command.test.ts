import { describe, expect, it } from 'vitest';
import { asTyped, ownCommand } from './own-command.js';

describe('ownCommand', () => {
  it.each([
    ['npm/11.0.0 node/v24.0.0 linux x64', 'npx trinity'],
    ['pnpm/10.1.0 npm/? node/v24.0.0', 'pnpm exec trinity'],
    ['yarn/4.5.0 npm/? node/v24.0.0', 'yarn trinity'],
    ['bun/1.3.0', 'bunx trinity'],
    ['deno/2.5.0', 'deno run -A npm:@trinity-rft/runner/trinity'],
    ['', 'npx trinity'],
  ])('follows who started the process: %s', (agent, expected) => {
    expect(ownCommand({ npm_config_user_agent: agent, PATH: '/nowhere' })).toBe(expected);
  });

  it('is what the environment names', () => {
    expect(ownCommand({ TRINITY_COMMAND: 'tools/trinity' })).toBe('tools/trinity');
  });
});

describe('asTyped', () => {
  it('changes commands, and nothing that only has the word', () => {
    const text =
      'Write: trinity run FILE. "trinity log RUN --warnings" names them.\n  trinity eval a.yaml\nThe folder trinity run/ and npx trinity log stay, trinity too.';
    expect(asTyped(text, 'npx trinity')).toBe(
      'Write: npx trinity run FILE. "npx trinity log RUN --warnings" names them.\n  npx trinity eval a.yaml\nThe folder trinity run/ and npx trinity log stay, trinity too.',
    );
  });
});
