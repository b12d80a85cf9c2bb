// Writes packages/studio-api/openapi.json from the routes and schemas of the interface.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApi } from '../packages/studio-api/src/interface/openapi.ts';

const file = join(import.meta.dirname, '../packages/studio-api/openapi.json');
writeFileSync(file, `${JSON.stringify(openApi(), null, 2)}\n`);
