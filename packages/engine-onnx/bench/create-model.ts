/** Writes the folder of a bench model: `create-model.ts NAME DIRECTORY`. */
import { createModelFolder } from '../src/storage/new-model.js';
import { benchModels, type BenchModel } from './models.js';

const [name, directory] = process.argv.slice(2) as [BenchModel, string];
await createModelFolder({ directory, seed: 1, config: benchModels[name] });
