// Writes openapi.json of the packages that define parts of the studio's interface, from their routes and schemas.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApi } from '../packages/inspect/src/studio/interface/openapi.ts';
import * as reading from '../packages/inspect/src/studio/interface/routes.ts';
import * as control from '../apps/studio/src/control/interface/routes.ts';

for (const [path, { routes, actions }] of Object.entries({
  'packages/inspect': reading,
  'apps/studio': control,
})) {
  const file = join(import.meta.dirname, '..', path, 'openapi.json');
  writeFileSync(file, `${JSON.stringify(openApi(routes, actions), null, 2)}\n`);
}
