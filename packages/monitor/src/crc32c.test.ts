import { expect, it } from 'vitest';
import { crc32c, maskedCrc32c } from './crc32c.js';

it.each([
  ['32 zeros', new Uint8Array(32), 0x8a9136aa],
  ['32 ones', new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ['0 to 31', Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ['31 to 0', Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  ['nine digits', Buffer.from('123456789'), 0xe3069283],
  ['nothing', new Uint8Array(0), 0],
])('gives the checksum of %s that RFC 3720 lists', (_what, bytes, expected) => {
  expect(crc32c(bytes)).toBe(expected);
});

it('masks as TFRecord readers expect', () => {
  expect(maskedCrc32c(new Uint8Array(0))).toBe(0xa282ead8);
  // 0xe3069283 rotated right by 15 bits is 0x2507c60d.
  expect(maskedCrc32c(Buffer.from('123456789'))).toBe(0x2507c60d + 0xa282ead8);
});
