import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { expect, it, onTestFinished } from 'vitest';
import { agreementOf } from './agreement.js';

it('compares a template for tools, and keeps the digest of a model without one', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agreement-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
  const digest = async (): Promise<string | undefined> => {
    const stage = { model: { modelPath: folder } } as unknown as StageConfig;
    return (await agreementOf(stage))['model.model_path']?.split(' ').at(-1);
  };
  write('config.json', '{}');
  // Stored in the runs of earlier versions.
  const earlier = '8b6f7f233367e115';
  expect(await digest()).toBe(earlier);
  mkdirSync(path.join(folder, 'additional_chat_templates'));
  write('additional_chat_templates/tool_use.jinja', 'tools');
  expect(await digest()).not.toBe(earlier);
});
