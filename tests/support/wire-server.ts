/**
 * A small HTTP server on 127.0.0.1 that plays a provider's replies to the real SDK: rules match requests by method,
 * path and body, replies may be slow, may be an error, or may never come although the request was taken (a lost
 * answer).
 *
 * It knows no cloud. What no rule matches is answered with 501 and kept apart, so that a test can hold that there was
 * none.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface WireReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Waits before it answers. */
  readonly delayMilliseconds?: number;
  /** The request is taken whole, and then the connection is torn down. */
  readonly lost?: boolean;
}

export type WireMatch = (request: WireRequest) => boolean;
/** A reply, or what makes one of the request (a server that keeps a state). */
export type WireAnswer = WireReply | ((request: WireRequest) => WireReply);

interface Rule {
  readonly match: WireMatch;
  readonly answers: WireAnswer[];
}

export class WireServer {
  /** Every request in the order in which it arrived. */
  readonly requests: WireRequest[] = [];
  readonly unmatched: WireRequest[] = [];
  private rules: Rule[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<WireServer> {
    const server = createServer();
    const wire = new WireServer(server);
    server.on('request', (request, response) => void wire.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /**
   * Answers what matches with one answer after the other; the last one stays. A later rule goes before an earlier one.
   */
  on(match: WireMatch, ...answers: WireAnswer[]): void {
    this.rules.unshift({ match, answers });
  }

  /** Forgets rules and requests. */
  reset(): void {
    this.rules = [];
    this.requests.length = 0;
    this.unmatched.length = 0;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private async answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request: WireRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    this.requests.push(request);
    const reply = this.replyTo(request);
    if (reply.delayMilliseconds !== undefined) await sleep(reply.delayMilliseconds);
    if (reply.lost === true) {
      incoming.socket.destroy();
      return;
    }
    response.writeHead(reply.status ?? 200, reply.headers);
    response.end(reply.body ?? '');
  }

  private replyTo(request: WireRequest): WireReply {
    const rule = this.rules.find(({ match }) => match(request));
    if (rule === undefined) {
      this.unmatched.push(request);
      return { status: 501, body: 'no rule matches this request' };
    }
    const answer = rule.answers.length > 1 ? rule.answers.shift() : rule.answers[0];
    return typeof answer === 'function' ? answer(request) : (answer ?? {});
  }
}
