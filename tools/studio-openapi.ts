// Writes openapi.json of the packages that define parts of the studio's interface, from their routes and schemas.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApi } from '../packages/studio-api/src/interface/openapi.ts';
import * as reading from '../packages/studio-api/src/interface/routes.ts';
import * as control from '../packages/studio-control/src/interface/routes.ts';

for (const [name, { routes, actions }] of Object.entries({
  'studio-api': reading,
  'studio-control': control,
})) {
  const file = join(import.meta.dirname, '../packages', name, 'openapi.json');
  writeFileSync(file, `${JSON.stringify(openApi(routes, actions), null, 2)}\n`);
}
