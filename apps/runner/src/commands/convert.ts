/**
 * `trinity convert`: writes a model in another data type, in shards, or with its adapter merged.
 */
import type { StoredTypeName } from '@trinity-rft/engine-onnx';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { exitingOnInterrupt } from '../shared/interrupt.js';
import { invalid, oneOf } from '../shared/arguments.js';

interface ConvertArguments {
  readonly adapter?: string;
  readonly dtype: string;
  readonly shardSize?: string;
}

export const addConvert: AddCommand = (program, { exitWith, write }) =>
  void program
    .command('convert <model> <output>')
    .description(
      'write a checkpoint, model folder or GGUF file as a folder in another number format, in shards, or with a LoRA adapter merged in',
    )
    .option('--dtype <name>', `number format of the weights: ${dtypes.join(', ')}`, 'float32')
    .option('--adapter <folder>', 'LoRA adapter to merge in, as PEFT writes it')
    .option('--shard-size <size>', 'largest file of weights, such as 2GB or 500MB')
    .action(
      exitWith(async (from: string, to: string, given: ConvertArguments) => {
        const { adapter } = given;
        const dtype = oneOf('--dtype', given.dtype, dtypes);
        const shardBytes = bytesOf(given.shardSize);
        const { convertModel } = await import('@trinity-rft/engine-onnx');
        const options = { from, to, adapter, dtype, shardBytes };
        const { weights, bytes, files } = await exitingOnInterrupt(() => convertModel(options));
        const parts = files.length === 1 ? files[0] : `${files.length} files`;
        const size = `${(bytes / 1e6).toFixed(1)} MB`;
        write(`${to}: ${weights} weights as ${dtype}, ${size} in ${parts}\n`);
        return exitCodes.done;
      }),
    );

const dtypes = ['float32', 'bfloat16', 'float16'] as const satisfies readonly StoredTypeName[];

const units: Readonly<Record<string, number>> = { KB: 1e3, MB: 1e6, GB: 1e9 };

function bytesOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^([\d.]+) ?(KB|MB|GB)$/i.exec(text) ?? [];
  const bytes = Number(count) * (units[unit.toUpperCase()] ?? Number.NaN);
  if (bytes > 0) return bytes;
  throw invalid(`--shard-size is "${text}". Expected a size such as 2GB or 500MB.`);
}
