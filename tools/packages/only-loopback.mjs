// Loaded into a Node process (NODE_OPTIONS=--import=...): its connections reach this machine only, where the gate is. Tries to go
// elsewhere fail, and are noted in the file GATE_ATTEMPTS.
import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);
// oxlint-disable-next-line typescript/unbound-method -- called with `apply`
const { connect } = Socket.prototype;

Socket.prototype.connect = function (...args) {
  // net.connect passes its arguments as one array.
  const [options, host] = Array.isArray(args[0]) ? args[0] : args;
  const target = typeof options === 'object' ? options : { port: options, host };
  const name = target.path === undefined ? (target.host ?? 'localhost') : 'localhost';
  if (loopback.has(name)) return connect.apply(this, args);
  appendFileSync(process.env.GATE_ATTEMPTS, `${name}\n`);
  this.destroy(new Error(`${name} is not reachable here`));
  return this;
};
