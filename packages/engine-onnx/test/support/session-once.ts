/** Creates a session in the main thread, as the export of an adapter does. */
import { Graph } from '../../src/onnx/graph/graph.js';
import { add } from '../../src/onnx/ops/elementwise.js';
import { createSession } from '../../src/runtime/session.js';

const graph = new Graph();
const a = graph.input('a', 'float32', ['R', 3]);
graph.output('y', add(a, graph.scalar(1)));
const session = await createSession(graph.record(), { threads: 1, kind: 'sample' });
await session.release();
