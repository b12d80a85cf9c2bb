/**
 * CRC-32C (Castagnoli), the checksum in TFRecord files. Source: RFC 3720, appendix B.4. The masking
 * is TensorFlow's.
 */

/** Polynomial of the CRC, with its bits reversed. */
const polynomial = 0x82f63b78;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  return crc;
});

/** Returns the CRC-32C of the bytes, an unsigned 32-bit integer. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 0xff]!;
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * Returns the masked CRC-32C: the checksum rotated right by 15 bits, plus a constant, modulo 2^32.
 * TensorFlow masks checksums because the CRC of data that itself contains CRCs is weak.
 */
export function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
