/** Creates data and model, tunes prompt and weights, and prints the comparison. */
import { rm, writeFile } from 'node:fs/promises';
import { standardTerminal } from '@trinity-rft/launcher';
import { renderPromptAndWeights } from '@trinity-rft/tuner';
import { compare } from './compare.ts';
import { prepare } from './prepare.ts';

const terminal = standardTerminal();
await rm('runs', { recursive: true, force: true });
await rm('checkpoints', { recursive: true, force: true });
const seed = Number(process.env['PROMPT_SEED'] ?? 42);
const modelPath = await prepare({ directory: '.', seed, terminal });
const report = await compare({ modelPath, cwd: '.', terminal });
await writeFile('runs/report.json', `${JSON.stringify(report, null, 2)}\n`);
terminal.write(`\n${renderPromptAndWeights(report)}`);
