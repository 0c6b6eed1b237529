/**
 * A TCP proxy in front of a server that may be gone for a while, and that cuts what goes through it. What connects
 * while the server is gone is reset.
 */
import { connect, createServer } from 'node:net';

export async function startProxy(port) {
  const open = new Map();
  const server = createServer({ noDelay: true }, (near) => {
    near.on('error', () => undefined);
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    far.on('error', () => near.resetAndDestroy());
    near.pipe(far);
    far.pipe(near);
    open.set(near, far);
    near.once('close', () => {
      open.delete(near);
      far.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    /** Cuts all that is open: FIN as a server that ends connections, RST as one that has gone. */
    cut(way) {
      for (const [near, far] of open) {
        near.unpipe(far);
        far.unpipe(near);
        if (way === 'FIN') near.end();
        else near.resetAndDestroy();
        far.destroy();
      }
    },
    async stop() {
      for (const near of open.keys()) near.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
