import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CheckpointError } from '@trinity-rft/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { parameterSpecs } from '../model/parameters.js';
import { blankOptimizer } from '../train/optimizer-file.js';
import { loadCheckpoint, saveCheckpoint } from './checkpoint.js';
import { loadModelFolder, saveModelFolder, type ModelFolder } from './model-folder.js';
import { createModelFolder } from './new-model.js';
import { openSafetensors, writeSafetensors, type NamedTensor } from './safetensors.js';

const fixtures = fileURLToPath(new URL('../../test/fixtures/', import.meta.url));
let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'model-folder-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The tensors of a model, to be changed and written again. */
function tensorsOf({ config, weights }: ModelFolder): NamedTensor[] {
  return parameterSpecs(config).map(({ name, shape, offset, size }) => ({
    name,
    shape,
    data: weights.subarray(offset, offset + size),
  }));
}

/** A folder whose weights went through `change`. */
async function changed(change: (tensors: NamedTensor[]) => NamedTensor[]): Promise<string> {
  const model = await loadModelFolder(join(fixtures, 'qwen3'));
  await saveModelFolder(folder, model, model.weights);
  await writeSafetensors(join(folder, 'model.safetensors'), change(tensorsOf(model)));
  return folder;
}

describe('a model folder', () => {
  it.for(['qwen3', 'qwen2', 'llama'])(
    'written by transformers opens and is saved with the same names, shapes and bits: %s',
    async (family) => {
      const model = await loadModelFolder(join(fixtures, family));
      await saveModelFolder(folder, model, model.weights);
      const [before, after] = [
        await openSafetensors(join(fixtures, family, 'model.safetensors')),
        await openSafetensors(join(folder, 'model.safetensors')),
      ];
      const shapes = (file: typeof before): unknown =>
        [...file.tensors.values()].map(({ name, shape }) => `${name} ${shape.join()}`).toSorted();
      expect(shapes(after)).toEqual(shapes(before));
      expect(after.metadata).toEqual({ format: 'pt' });
      await Promise.all([before.close(), after.close()]);
      expect((await loadModelFolder(folder)).weights).toEqual(model.weights);
    },
  );

  it('is the text part of a model that sees, and is saved as a model of text alone', async () => {
    const text = await loadModelFolder(join(fixtures, 'gemma3_text'));
    const { tie_word_embeddings: tied, ...textConfig } = JSON.parse(text.configText) as Record<
      string,
      unknown
    >;
    const whole = {
      architectures: ['Gemma3ForConditionalGeneration'],
      model_type: 'gemma3',
      tie_word_embeddings: tied,
      text_config: textConfig,
      vision_config: { hidden_size: 8 },
    };
    await writeFile(join(folder, 'config.json'), JSON.stringify(whole));
    const other = { shape: [1], data: Float32Array.of(7) };
    await writeSafetensors(join(folder, 'model.safetensors'), [
      ...tensorsOf(text).map((tensor) => ({
        ...tensor,
        name: tensor.name.replace('model.', 'model.language_model.'),
      })),
      { ...other, name: 'model.visual.patch_embed.weight' },
      { ...other, name: 'mtp.fc.weight' },
    ]);

    const found = await loadModelFolder(folder);
    expect(found.isTextPart).toBe(true);
    expect(found.config).toEqual(text.config);
    expect(found.weights).toEqual(text.weights);
    await saveModelFolder(folder, found, found.weights);
    const saved = await loadModelFolder(folder);
    expect(saved.isTextPart).toBeUndefined();
    expect(saved.weights).toEqual(text.weights);
    expect(JSON.parse(saved.configText)).toMatchObject({
      architectures: ['Gemma3ForCausalLM'],
      model_type: 'gemma3_text',
      tie_word_embeddings: tied,
    });
  });

  it('leaves out the parts of Gemma 4 for images and sounds, and keys that no layer uses', async () => {
    const text = await loadModelFolder(join(fixtures, 'gemma4_text'));
    const whole = {
      architectures: ['Gemma4ForConditionalGeneration'],
      model_type: 'gemma4',
      text_config: JSON.parse(text.configText) as unknown,
      vision_config: { hidden_size: 8 },
      audio_config: { hidden_size: 8 },
    };
    const written = JSON.stringify(whole).replace(/(softcapping":)3,/, '$13.0,');
    await writeFile(join(folder, 'config.json'), written);
    const other = { shape: [1], data: Float32Array.of(7) };
    const parts = ['vision_tower', 'embed_vision', 'audio_tower', 'embed_audio'];
    const unused = ['k_proj', 'v_proj', 'k_norm'].map((name) => `layers.5.self_attn.${name}`);
    await writeSafetensors(join(folder, 'model.safetensors'), [
      ...tensorsOf(text).map((tensor) => ({
        ...tensor,
        name: tensor.name.replace('model.', 'model.language_model.'),
      })),
      ...parts.map((part) => ({ ...other, name: `model.${part}.x.weight` })),
      ...unused.map((name) => ({ ...other, name: `model.language_model.${name}.weight` })),
    ]);
    const found = await loadModelFolder(folder);
    expect(found.isTextPart).toBe(true);
    expect(found.config).toEqual(text.config);
    expect(found.weights).toEqual(text.weights);
    await saveModelFolder(folder, found, found.weights);
    const { configText } = await loadModelFolder(folder);
    expect(JSON.parse(configText)).toMatchObject({
      architectures: ['Gemma4ForCausalLM'],
      model_type: 'gemma4_text',
    });
    // transformers rejects an integer here.
    expect(configText).toContain('"final_logit_softcapping": 3.0,');
  });

  it('keeps config.json as it was, apart from the type that the weights are now stored in', async () => {
    await cp(join(fixtures, 'llama'), folder, { recursive: true });
    const text = (await readFile(join(folder, 'config.json'), 'utf8'))
      .replace(/"float32"/, '"bfloat16"')
      .replace('{', '{\n  "something_else": [1, 2.0],');
    await writeFile(join(folder, 'config.json'), text);
    const model = await loadModelFolder(folder);
    await saveModelFolder(join(folder, 'saved'), model, model.weights);
    expect(await readFile(join(folder, 'saved', 'config.json'), 'utf8')).toBe(
      text.replace('"bfloat16"', '"float32"'),
    );
  });

  it('carries the files of the tokenizer along, byte for byte, also after the source was removed', async () => {
    const tokenizerFiles = {
      'tokenizer.json': '{"é": 1}',
      'chat_template.jinja': '{{ x }}\n',
      'generation_config.json': '{}',
    };
    const source = join(folder, 'source');
    await createModelFolder({
      directory: source,
      seed: 1,
      tokenizerFiles,
      config: { vocabSize: 8, hiddenSize: 16, layers: 1, heads: 2 },
    });
    const model = await loadModelFolder(source);
    await rm(source, { recursive: true });
    await saveModelFolder(join(folder, 'saved'), model, model.weights);
    expect((await readdir(join(folder, 'saved'))).toSorted()).toEqual([
      'chat_template.jinja',
      'config.json',
      'generation_config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    for (const [name, content] of Object.entries(tokenizerFiles))
      expect(await readFile(join(folder, 'saved', name), 'utf8')).toBe(content);
  });

  it.each([
    ['chat_template.jinja', 'plain'],
    ['tokenizer_config.json', '{"chat_template": "plain"}'],
  ])('carries a separate template for tools beside %s along', async (name, content) => {
    const source = join(folder, 'source');
    await cp(join(fixtures, 'qwen2'), source, { recursive: true });
    await mkdir(join(source, 'additional_chat_templates'));
    await writeFile(join(source, name), content);
    await writeFile(join(source, 'additional_chat_templates', 'tool_use.jinja'), 'tools');
    const model = await loadModelFolder(source);
    await saveModelFolder(join(folder, 'saved'), model, model.weights);
    const files = await readdir(join(folder, 'saved'));
    expect(files.filter((name) => name.includes('template'))).toEqual([]);
    const text = await readFile(join(folder, 'saved', 'tokenizer_config.json'), 'utf8');
    expect((JSON.parse(text) as { chat_template: unknown }).chat_template).toEqual([
      { name: 'default', template: 'plain' },
      { name: 'tool_use', template: 'tools' },
    ]);
  });

  it('is read from shards', async () => {
    const model = await loadModelFolder(join(fixtures, 'qwen2'));
    await cp(join(fixtures, 'qwen2', 'config.json'), join(folder, 'config.json'));
    const tensors = tensorsOf(model);
    const shards = {
      'model-00001-of-00002.safetensors': tensors.slice(0, 5),
      'model-00002-of-00002.safetensors': tensors.slice(5),
    };
    const weightMap: Record<string, string> = {};
    for (const [file, part] of Object.entries(shards)) {
      await writeSafetensors(join(folder, file), part);
      for (const { name } of part) weightMap[name] = file;
    }
    await writeFile(
      join(folder, 'model.safetensors.index.json'),
      JSON.stringify({ metadata: {}, weight_map: weightMap }),
    );
    expect((await loadModelFolder(folder)).weights).toEqual(model.weights);

    weightMap['model.norm.weight'] = 'model-00001-of-00002.safetensors';
    await writeFile(
      join(folder, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: weightMap }),
    );
    await expect(loadModelFolder(folder)).rejects.toThrow(
      'names model-00001-of-00002.safetensors as the file of tensor model.norm.weight',
    );
  });

  it('may hold a copy of the tied head', async () => {
    const { config } = await loadModelFolder(join(fixtures, 'qwen3'));
    expect(config.tieEmbeddings).toBe(true);
    const directory = await changed((tensors) => [
      ...tensors,
      { ...tensors[0]!, name: 'lm_head.weight' },
    ]);
    await expect(loadModelFolder(directory)).resolves.toBeDefined();
  });
});

describe('weights that do not fit are rejected, with tensor, file and shapes:', () => {
  const name = 'model.layers.0.mlp.up_proj.weight';
  it('a missing tensor', async () => {
    const rejection = loadModelFolder(
      await changed((tensors) => tensors.filter((tensor) => tensor.name !== name)),
    );
    await expect(rejection).rejects.toBeInstanceOf(CheckpointError);
    await expect(rejection).rejects.toThrow(
      new RegExp(`tensor ${name} of shape \\[\\d+, \\d+\\] is missing`),
    );
  });

  it('a tensor of another shape', async () => {
    const rejection = loadModelFolder(
      await changed((tensors) =>
        tensors.map((tensor) =>
          tensor.name === name ? { ...tensor, shape: [tensor.data.length] } : tensor,
        ),
      ),
    );
    await expect(rejection).rejects.toBeInstanceOf(CheckpointError);
    await expect(rejection).rejects.toThrow(
      new RegExp(
        `tensor ${name} in model.safetensors has shape \\[\\d+\\], but config.json asks for \\[\\d+, \\d+\\]`,
      ),
    );
  });

  it('a tensor that the model has no place for', async () => {
    const rejection = loadModelFolder(
      await changed((tensors) => [
        ...tensors,
        { name: 'model.layers.9.mlp.extra', shape: [2], data: new Float32Array(2) },
      ]),
    );
    await expect(rejection).rejects.toBeInstanceOf(CheckpointError);
    await expect(rejection).rejects.toThrow(
      'tensor model.layers.9.mlp.extra of shape [2] in model.safetensors has no place in a qwen3 model',
    );
  });

  it('no weights at all', async () => {
    await cp(join(fixtures, 'qwen3', 'config.json'), join(folder, 'config.json'));
    await expect(loadModelFolder(folder)).rejects.toThrow(
      'holds neither model.safetensors nor model.safetensors.index.json',
    );
  });

  it('no config.json, or one that is not JSON', async () => {
    await expect(loadModelFolder(folder)).rejects.toThrow(
      `${join(folder, 'config.json')} cannot be read`,
    );
    await writeFile(join(folder, 'config.json'), '{');
    await expect(loadModelFolder(folder)).rejects.toThrow('config.json is not JSON');
    await writeFile(join(folder, 'config.json'), '\uFEFF{}');
    await expect(loadModelFolder(folder)).rejects.toThrow(
      'config.json begins with a byte order mark, which JSON does not allow. Save it as UTF-8 without one.',
    );
  });
});

describe('a checkpoint', () => {
  it('keeps moments and step where nobody takes them for weights, and drops them when saved without', async () => {
    const model = await loadModelFolder(join(fixtures, 'qwen3'));
    const optimizer = blankOptimizer(parameterSpecs(model.config), 12);
    optimizer.first.forEach((_, i) => (optimizer.first[i] = i / 7));
    optimizer.second.forEach((_, i) => (optimizer.second[i] = i * 3));
    await saveCheckpoint(folder, model, model.weights, optimizer);
    expect(await loadCheckpoint(folder, model.config)).toEqual({
      weights: model.weights,
      optimizer,
    });
    // vLLM reads all of these.
    const weights = (await readdir(folder)).filter((name) => name.endsWith('.safetensors'));
    expect(weights).toEqual(['model.safetensors']);
    await rename(
      join(folder, 'optimizer', 'moments.safetensors'),
      join(folder, 'optimizer.safetensors'),
    );
    // As earlier versions wrote it.
    expect((await loadCheckpoint(folder, model.config)).optimizer).toEqual(optimizer);
    await saveCheckpoint(folder, model, model.weights, undefined);
    expect(await loadCheckpoint(folder, model.config)).toEqual({ weights: model.weights });
  });

  it('with too few weights is rejected before anything is written', async () => {
    const { weights, ...files } = await loadModelFolder(join(fixtures, 'qwen3'));
    await saveModelFolder(folder, files, weights);
    const saved = await readFile(join(folder, 'model.safetensors'));
    await expect(saveModelFolder(folder, files, weights.subarray(10))).rejects.toThrow(
      `${weights.length - 10} weights for a model of ${weights.length}`,
    );
    expect(await readFile(join(folder, 'model.safetensors'))).toEqual(saved);
  });

  it('of another model, or with an optimizer of another one, is rejected', async () => {
    const [one, other] = [
      await loadModelFolder(join(fixtures, 'qwen3')),
      await loadModelFolder(join(fixtures, 'llama')),
    ];
    await saveCheckpoint(folder, one, one.weights, undefined);
    await expect(loadCheckpoint(folder, other.config)).rejects.toThrow(
      'holds another model: its family is "qwen3", that of the engine "llama"',
    );
    await writeSafetensors(join(folder, 'optimizer.safetensors'), [
      { name: 'x', shape: [1], data: new Float32Array(1) },
    ]);
    await expect(loadCheckpoint(folder, one.config)).rejects.toThrow(
      'does not hold the optimizer of this model',
    );
    const moments = blankOptimizer(parameterSpecs(one.config), 1);
    moments.second[3] = NaN;
    await saveCheckpoint(folder, one, one.weights, moments);
    await expect(loadCheckpoint(folder, one.config)).rejects.toThrow(
      /moments.safetensors: tensor \S+ contains NaN; expected finite numbers. Delete the file/,
    );
  });
});
