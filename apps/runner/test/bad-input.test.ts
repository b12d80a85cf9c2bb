import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { toFailure } from '../src/shared/exit-codes.js';
import { finishHere, runHere } from './support/run-here.js';
import { weightsDigest } from './support/run-record.js';
import { runArgs, startTrinity, trinity } from './support/trinity.js';
import { createWorkspace, twoStages, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
const at = (...parts: readonly string[]): string => path.join(workspace.root, ...parts);
const job = (name: string): string => at('runs/tests', name);

let runs = 0;
/** Runs the configuration and returns the exit code and message of the command. */
async function failureOf(
  ...over: readonly Tree[]
): Promise<ReturnType<typeof toFailure> & { readonly name: string }> {
  const name = `bad-${runs++}`;
  const { error } = await runHere(workspace, workspace.config(`${name}.yaml`, { name }, ...over));
  expect(error).toBeInstanceOf(Error);
  return { ...toFailure(error), name };
}

const tasks = (file: string): Tree => ({
  buffer: {
    explorer_input: {
      tasksets: [
        { name: 'sums', path: file, format: { prompt_key: 'question', response_key: 'answer' } },
      ],
    },
  },
});
const names = (workflow: string, reward = 'digits'): Tree => ({
  buffer: { explorer_input: { default_workflow_type: workflow, default_reward_fn_type: reward } },
});

/** Two stages in mode both. */
const loops = (second: Tree): Tree => ({
  stages: [
    { stage_name: 'a', mode: 'both' },
    { stage_name: 'b', mode: 'both', ...second },
  ],
});

describe('a mistake of the user', () => {
  const mistakes: readonly (readonly [
    what: string,
    make: () => readonly Tree[],
    message: RegExp,
  ])[] = [
    ['a malformed line', () => [tasks('broken.jsonl')], /broken\.jsonl:2:18.*expected/s],
    ['a line that is no object', () => [tasks('list.jsonl')], /list\.jsonl:1:1/],
    ['an empty file', () => [tasks('empty.jsonl')], /empty\.jsonl/],
    [
      'a missing file',
      () => [tasks('gone.jsonl')],
      /got "gone\.jsonl", but there is no .*gone\.jsonl/,
    ],
    [
      'an unknown workflow',
      () => [names('simple_workfow')],
      /bad-\d+\.yaml:\d+:\d+ buffer\.explorer_input\.default_workflow_type: got "simple_workfow", but there is no such workflow\. Did you mean "simple_workflow"\?/,
    ],
    [
      'an unknown reward function',
      () => [names('simple_workflow', 'digitz')],
      /default_reward_fn_type: got "digitz", but there is no such reward function\. Did you mean "digits"\?/,
    ],
    [
      'fewer tasks than one step takes',
      () => [{ buffer: { batch_size: 128, total_steps: null, total_epochs: 1 } }],
      /buffer\.batch_size: got 128, but the task sets hold 100 tasks, which in 1 epochs do not fill one explore step\. Lower it, or raise total_epochs\./,
    ],
    [
      'a model folder that is missing',
      () => [{ model: { model_path: './nowhere' } }],
      /got "\.\/nowhere", but there is no .*nowhere/,
    ],
    [
      'a model without its tokenizer',
      () => [{ model: { model_path: 'no-tokenizer' } }],
      /model\.model_path: There is no tokenizer\.json in .*no-tokenizer\. Expected a Hugging Face model folder/,
    ],
    [
      'a model without a chat template',
      () => [{ model: { model_path: 'no-template' } }],
      /no-template.*chat.template/is,
    ],
    [
      'a malformed chat template of a later stage',
      () => [loops({ model: { chat_template_path: 'bad.jinja' } })],
      /model\.model_path: .*template/,
    ],
    [
      'a model of two stages with a missing tensor, once,',
      () => [loops({}), { model: { model_path: 'no-tensor' } }],
      /^(?!.*problems).*tensor model\.norm\.weight of shape \[32\] is missing/s,
    ],
    [
      'a model with a missing tensor',
      () => [{ model: { model_path: 'no-tensor' } }],
      /no-tensor: tensor model\.norm\.weight of shape \[32\] is missing/,
    ],
    [
      'a model with a tensor of another shape',
      () => [{ model: { model_path: 'odd-tensor' } }],
      /tensor model\.norm\.weight in .* has shape \[4, 8\], but config\.json asks for \[32\]/,
    ],
    [
      'a model whose weights are cut short',
      () => [{ model: { model_path: 'short' } }],
      /short.*model\.safetensors/s,
    ],
    [
      'a root that is a file',
      () => [{ checkpoint_root_dir: 'tasks.jsonl' }],
      /got "tasks\.jsonl", which is a file/,
    ],
    [
      'a root below a file',
      () => [{ checkpoint_root_dir: 'tasks.jsonl/runs' }],
      /Run directory .* cannot be used: ENOTDIR.*Set checkpoint_root_dir to a folder/,
    ],
  ];
  beforeAll(() => {
    workspace.write(
      'broken.jsonl',
      '{"question": "1+1=", "answer": "2"}\n{"question": "2" "answer": "3"}\n',
    );
    workspace.write('list.jsonl', '[1, 2]\n');
    workspace.write('empty.jsonl', '');
    workspace.write('bad.jinja', '{% for x in %}broken');
    for (const name of ['no-tokenizer', 'no-template', 'no-tensor', 'odd-tensor', 'short'])
      cpSync(at('model'), at(name), { recursive: true });
    rmSync(at('no-tokenizer/tokenizer.json'));
    rmSync(at('no-template/chat_template.jinja'));
    writeFileSync(at('no-template/tokenizer_config.json'), '{"eos_token": "<|im_end|>"}');
    editHeader(at('no-tensor/model.safetensors'), (json) =>
      json.replace('model.norm.weight', 'model.gone.weight'),
    );
    editHeader(at('odd-tensor/model.safetensors'), (json) =>
      json.replace(/("model\.norm\.weight":\{[^}]*"shape":)\[32\]/, '$1[4,8]'),
    );
    truncateSync(at('short/model.safetensors'), 5000);
  });

  it.each(mistakes)(
    '%s ends the run with exit code 2 before anything starts, and names place and cure',
    async (_what, make, message) => {
      const { exitCode, message: said, name } = await failureOf(...make());
      expect(said).toMatch(message);
      expect(exitCode).toBe(2);
      expect(existsSync(path.join(job(name), 'monitor'))).toBe(false);
    },
  );
});

it('--explorers starts nothing where processes cannot share the experiences', async () => {
  const file = (name: string, ...over: readonly Tree[]): string =>
    workspace.config(`${name}.yaml`, { name }, ...over);
  const said = async (config: string): Promise<string> => {
    const { exitCode, stderr } = await trinity(
      workspace.root,
      ...runArgs(config),
      '--explorers',
      '2',
    );
    expect(exitCode).toBe(2);
    return stderr;
  };
  expect(await said(file('staged', loops({})))).toContain('one process executes all stages');
  expect(await said(file('served', { mode: 'serve' }))).toContain('Expected mode both');
});

/** Changes the header of a safetensors file: its length in eight bytes, then JSON. */
function editHeader(file: string, change: (json: string) => string): void {
  const bytes = readFileSync(file);
  const length = Number(bytes.readBigUInt64LE());
  const header = Buffer.from(change(bytes.toString('utf8', 8, 8 + length)));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(file, Buffer.concat([prefix, header, bytes.subarray(8 + length)]));
}

describe('a run directory', () => {
  it(
    'that another process uses is refused, with its id, and free as soon as that process is gone',
    { timeout: 240_000 },
    async () => {
      const config = workspace.config('locked.yaml', {
        name: 'locked',
        buffer: { total_steps: 500, explorer_input: { default_workflow_type: 'chatty' } },
      });
      const first = startTrinity(workspace.root, runArgs(config));
      await new Promise<void>((resolve) =>
        first.child.stdout?.on('data', () => first.output().includes('step 1') && resolve()),
      );
      const { error } = await runHere(workspace, config);
      expect(toFailure(error)).toEqual({
        exitCode: 2,
        message: `Run directory ${job('locked')} is in use by process ${first.child.pid}. Wait for it, stop it, or give this run another name.`,
      });
      first.child.kill('SIGKILL');
      await first.ended;
      const stop = new AbortController();
      stop.abort();
      expect((await runHere(workspace, config, { signal: stop.signal })).summary?.interrupted).toBe(
        true,
      );
    },
  );

  it(
    'with a manifest or weights that were damaged is refused, naming the file and the way out, and then resumes',
    { timeout: 240_000 },
    async () => {
      const over: readonly Tree[] = [{ name: 'damaged', trainer: { save_interval: 2 } }];
      const run = (total: number) =>
        runHere(
          workspace,
          workspace.config('damaged.yaml', ...over, { buffer: { total_steps: total } }),
        );
      expect((await run(4)).error).toBeUndefined();
      const checkpoint = path.join(job('damaged'), 'global_step_4');
      const weights = readFileSync(path.join(checkpoint, 'model.safetensors'));

      writeFileSync(path.join(checkpoint, 'model.safetensors'), weights.subarray(0, -4));
      const torn = await run(6);
      expect(toFailure(torn.error)).toMatchObject({
        exitCode: 1,
        message: expect.stringMatching(
          /global_step_4: model\.safetensors differs from its digest in the manifest\. Delete the folder to resume/,
        ) as unknown,
      });
      writeFileSync(path.join(checkpoint, 'model.safetensors'), weights);

      writeFileSync(path.join(checkpoint, 'manifest.json'), '{"version": 1, "st');
      const damaged = await run(6);
      expect(toFailure(damaged.error)).toMatchObject({
        exitCode: 1,
        message: expect.stringMatching(
          /global_step_4\/manifest\.json is not JSON\. Delete the folder to resume/,
        ) as unknown,
      });
      expect(readFileSync(path.join(job('damaged'), 'failure.txt'), 'utf8')).toMatch(
        /manifest\.json is not JSON[^]*\n {4}at [^]*SyntaxError/,
      );

      rmSync(checkpoint, { recursive: true });
      expect((await run(6)).error).toBeUndefined();
      await finishHere(workspace, 'intact', ...over);
      expect(weightsDigest(job('damaged'))).toBe(weightsDigest(job('intact')));
    },
  );

  it(
    'with weights whose experiences are gone is refused, unless nothing is left to do',
    { timeout: 240_000 },
    async () => {
      const inMemory: Tree = {
        buffer: { trainer_input: { experience_buffer: { storage: 'memory' } } },
      };
      const run = (name: string, ...over: readonly Tree[]) =>
        runHere(workspace, workspace.config(`${name}.yaml`, { name }, ...over));
      expect((await run('forgetful', inMemory)).error).toBeUndefined();
      expect((await run('forgetful', inMemory)).summary).toMatchObject({
        doneBefore: true,
        trainStep: 6,
      });
      const stop = new AbortController();
      const config = workspace.config(
        'stopped.yaml',
        { name: 'stopped', trainer: { save_interval: 2 } },
        inMemory,
      );
      const terminal = {
        write: (text: string) => void (text.includes('step 3') && stop.abort()),
        isTTY: false,
        columns: () => 80,
      };
      await runHere(workspace, config, { signal: stop.signal, terminal });
      expect(toFailure((await runHere(workspace, config)).error)).toEqual({
        exitCode: 2,
        message: expect.stringMatching(
          /stopped cannot continue after train step \d: its experience_buffer has storage: memory, which ended with its process\. Give the new run/,
        ) as unknown,
      });
      expect((await run('emptied')).error).toBeUndefined();
      rmSync(path.join(job('emptied'), 'buffer'), { recursive: true });
      expect(toFailure((await run('emptied', { buffer: { total_steps: 8 } })).error)).toEqual({
        exitCode: 2,
        message: expect.stringMatching(
          /emptied cannot continue after train step 6: its experiences are not in .*experience_buffer\.db\./,
        ) as unknown,
      });
    },
  );

  it(
    'whose checkpoint cannot be written fails with the folder and the reason, and resumes when it can',
    { timeout: 240_000 },
    async () => {
      const config = workspace.config('full.yaml', { name: 'full', trainer: { save_interval: 2 } });
      // A folder at the path of the file makes writing the file fail.
      mkdirSync(path.join(job('full'), 'latest_checkpointed_iteration.txt'), { recursive: true });
      const { error } = await runHere(workspace, config);
      expect(toFailure(error)).toMatchObject({
        exitCode: 1,
        message: expect.stringMatching(
          /^Checkpoint .*global_step_2 could not be written: EISDIR.* Check that the folder is writable/,
        ) as unknown,
      });
      rmSync(path.join(job('full'), 'latest_checkpointed_iteration.txt'), { recursive: true });
      expect((await runHere(workspace, config)).summary?.trainStep).toBe(6);
    },
  );

  it(
    'with a damaged list of stages is refused, naming the file',
    { timeout: 240_000 },
    async () => {
      mkdirSync(job('listed'), { recursive: true });
      writeFileSync(path.join(job('listed'), 'stage_meta.json'), '{"latest_stage": "two"}');
      const { error } = await runHere(
        workspace,
        workspace.config('listed.yaml', twoStages, { name: 'listed' }),
      );
      expect(toFailure(error)).toEqual({
        exitCode: 1,
        message: `${path.join(job('listed'), 'stage_meta.json')} is damaged; expected {"latest_stage": n}. Write the number of the stage to continue with into it, counted from 0.`,
      });
    },
  );

  it('is left without temporary files', { timeout: 240_000 }, async () => {
    expect(
      (
        await runHere(
          workspace,
          workspace.config('tidy.yaml', {
            name: 'tidy',
            trainer: { save_interval: 2 },
            synchronizer: { sync_method: 'checkpoint' },
          }),
        )
      ).error,
    ).toBeUndefined();
    expect(readdirSync(job('tidy')).toSorted()).toEqual([
      'buffer',
      'configuration.json',
      'end.json',
      'global_step_2',
      'global_step_4',
      'global_step_6',
      'latest_checkpointed_iteration.txt',
      'log',
      'monitor',
      'run.lock',
      'settings.json',
      'stage_meta.json',
    ]);
  });
});
