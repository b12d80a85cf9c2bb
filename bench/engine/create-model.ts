/** Writes the folder of a bench model: `create-model.ts NAME DIRECTORY`. */
import { createModelFolder } from '../../packages/engine-onnx/src/storage/new-model.ts';
import { benchModels, type BenchModel } from './models.ts';

const [name, directory] = process.argv.slice(2) as [BenchModel, string];
await createModelFolder({ directory, seed: 1, config: benchModels[name] });
