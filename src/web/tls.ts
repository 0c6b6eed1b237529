/**
 * A second listener with TLS for the admission webhook: an API server calls webhooks over https only.
 *
 * It serves the same application, but only `/admission/`: everything else belongs behind the proxy with TLS in front of
 * the first listener. Reads certificate and key once; a renewed certificate needs a restart.
 */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { invalid, unavailable } from '../core/errors.js';

export interface TlsListener {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Paths of PEM files: the certificate with its chain, and its key. */
  readonly certFile: string;
  readonly keyFile: string;
}

/**
 * Opens the TLS listener of an application that already listens.
 * @throws Failure invalid where the certificate or the key cannot be used, unavailable where the port is taken
 */
export async function listenTls(
  app: NestFastifyApplication,
  { host, port, certFile, keyFile }: TlsListener,
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const fastify = app.getHttpAdapter().getInstance();
  let server: Server;
  try {
    const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
    server = createServer({ cert, key, minVersion: 'TLSv1.2' }, (request, response) => {
      if (request.url?.startsWith('/admission/') === true) return fastify.routing(request, response);
      response.writeHead(404).end();
    });
  } catch {
    throw invalid('the TLS certificate and key of the admission webhook cannot be used', [
      {
        path: 'BURSAR_ADMISSION_TLS_CERT',
        message: 'is not a PEM certificate that fits BURSAR_ADMISSION_TLS_KEY, or one of the two cannot be read',
      },
    ]);
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(unavailable(`port ${port} of ${host} cannot be opened for the admission webhook`, error)),
    );
    server.listen(port, host, resolve);
  });
  return {
    address: `https://${host}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}
