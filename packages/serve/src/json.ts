/** Reads JSON request bodies. */
import { readJson as readBoundedJson } from '@trinity-rft/http-server';

/**
 * Limits for a body. Eight megabytes are enough for ten thousand ids. The depth is limited because
 * error messages print values recursively.
 */
const limits = { maxBytes: 8_000_000, maxDepth: 16, expected: 'a JSON object in UTF-8' };

/**
 * Reads a request body as JSON. Returns undefined if the body is empty.
 * @throws ModelError 400, 413, 415
 */
export const readJson = (request: Request): Promise<unknown> => readBoundedJson(request, limits);
