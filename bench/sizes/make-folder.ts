/** `make-folder.ts NAME DIRECTORY`: writes the folder of a size with random weights. */
import { createModelFolder } from '../../packages/engine-onnx/src/index.ts';
import { sizes } from './shapes.ts';

const [name, directory = 'model'] = process.argv.slice(2);
const config = sizes.find((size) => size.name === name)?.config;
if (config) await createModelFolder({ directory, seed: 1, config });
