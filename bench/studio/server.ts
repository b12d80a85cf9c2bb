/** `node server.ts RUNS PAGE`: the studio's server in a separate process. */
import { openStudio } from '../../packages/inspect/src/studio/index.ts';

const [, , runs = '.', page = '.'] = process.argv;
const { url } = await openStudio({ runs, page });
console.log(url);
