/** Opens a GPU on a machine that has none. */
import { open } from '../support/open.js';

await open().catch((error: unknown) => {
  const { code, message } = error as { code: string; message: string };
  process.stdout.write(JSON.stringify({ code, message }));
});
