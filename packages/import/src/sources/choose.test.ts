import { expect, it } from 'vitest';
import { chooseSource } from './choose.js';

it('closes the file when the reader stops among the records that detection has read', async () => {
  let isClosed = false;
  async function* read() {
    try {
      for (let line = 1; ; line++) yield { line, record: { unknown: line } };
    } finally {
      isClosed = true;
    }
  }
  const { name, records } = await chooseSource(read());
  expect(name).toBeUndefined();
  for await (const { line } of records) {
    expect(line).toBe(1);
    break;
  }
  expect(isClosed).toBe(true);
});
