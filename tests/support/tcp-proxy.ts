/**
 * A TCP proxy in front of a server, which cuts what goes through it: as a server that ends a connection (FIN), as one
 * that has gone (RST), or as a network that drops everything without a word. What connects after a cut goes through.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll } from 'vitest';

export type Cut = 'FIN' | 'RST' | 'silence';

export interface TcpProxy {
  /** The server's address, through the proxy. */
  readonly url: string;
  /** Has new connections lead to another server. */
  leadTo(url: string): void;
  /** Cuts every connection that is open. */
  cut(way: Cut): void;
  /** Ends every new connection at once, until it is set back. */
  isAway: boolean;
}

/** Closed after the file or block. @param url of a server that listens by TCP */
export async function tcpProxy(url: string): Promise<TcpProxy> {
  let target = new URL(url);
  const open = new Map<Socket, Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    near.on('error', () => undefined);
    if (proxy.isAway) return void near.destroy();
    const far = connect({ port: Number(target.port), host: target.hostname, noDelay: true });
    far.on('error', () => undefined);
    near.pipe(far);
    far.pipe(near);
    open.set(near, far);
    near.once('close', () => {
      open.delete(near);
      far.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  const proxy: TcpProxy = {
    url: through.href,
    isAway: false,
    leadTo(other) {
      target = new URL(other);
    },
    cut(way) {
      for (const [near, far] of open) {
        near.unpipe(far);
        far.unpipe(near);
        if (way === 'FIN') near.end();
        if (way === 'RST') near.resetAndDestroy();
        // The server's side ends in any case: it holds no locks for a test that goes on.
        far.destroy();
      }
    },
  };
  afterAll(async () => {
    for (const near of open.keys()) near.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return proxy;
}
