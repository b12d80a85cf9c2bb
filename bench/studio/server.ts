/** The server of the studio in a process of its own: `node server.ts RUNS PAGE`. */
import { openStudio } from '../../packages/inspect/src/studio/index.ts';

const [, , runs = '.', page = '.'] = process.argv;
const { url } = await openStudio({ runs, page });
console.log(url);
