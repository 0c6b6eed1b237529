/**
 * An HTTP server on this machine that answers as a test tells it and keeps what it was asked, byte for byte.
 */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text or bytes as they are; anything else as JSON. */
  readonly body?: unknown;
  /** The connection is cut instead of an answer (`drop`), or never answered (`hang`). */
  readonly instead?: 'drop' | 'hang';
  /** Chunks without a length, for as long as somebody reads. */
  readonly endless?: Buffer;
}

export class ScriptedServer {
  readonly asked: Asked[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** Without a slash at the end. */
    readonly url: string,
  ) {
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  static async start(answer: (asked: Asked) => Scripted | Promise<Scripted>): Promise<ScriptedServer> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', async () => {
        const asked = {
          method: request.method ?? '',
          url: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        };
        started.asked.push(asked);
        const { status = 200, headers = {}, body = '', instead, endless } = await answer(asked);
        if (instead === 'hang') return;
        if (instead === 'drop') {
          request.socket.destroy();
          return;
        }
        response.writeHead(status, headers);
        if (endless === undefined)
          response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
        else
          while (!response.destroyed)
            if (!response.write(endless))
              await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const started: ScriptedServer = new ScriptedServer(
      server,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    );
    return started;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** The failure that something ends in. @throws Error where it ends well. */
export async function failureOf(
  work: () => unknown,
): Promise<{ kind: string; message: string; problems: readonly { path: string | null; message: string }[] }> {
  try {
    await work();
  } catch (error) {
    return error as Awaited<ReturnType<typeof failureOf>>;
  }
  throw new Error('it did not fail');
}

/** All that a sequence gives; nothing where there is none. */
export async function all<T>(sequence: AsyncIterable<T> | undefined): Promise<T[]> {
  const found: T[] = [];
  for await (const one of sequence ?? []) found.push(one);
  return found;
}
