/** Program that connects its input and output to the proxy on the port of its first argument. */
import { connect } from 'node:net';

const [port, ...args] = process.argv.slice(2);
const socket = connect(Number(port), '127.0.0.1');
socket.write(`${JSON.stringify(args)}\n`);
process.stdin.pipe(socket).pipe(process.stdout);
socket.on('close', () => process.exit(1));
socket.on('error', () => process.exit(1));
