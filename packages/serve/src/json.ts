/** Reads JSON request bodies. */
import { readJson as readBoundedJson } from '@trinity-rft/http-server';

/**
 * Limits of a body. The size is sufficient for ten thousand ids; the depth is limited because error
 * messages print values recursively.
 */
const limits = { maxBytes: 8_000_000, maxDepth: 16, expected: 'a JSON object in UTF-8' };

/**
 * Reads a JSON body. Returns undefined if the body is empty.
 * @throws ModelError 400, 413, 415
 */
export const readJson = (request: Request): Promise<unknown> => readBoundedJson(request, limits);
