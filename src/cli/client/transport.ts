/**
 * The transport of a request to Bursar: by HTTP, or in process. Requests and the meaning of answers are the same for
 * both (api.ts).
 */
import type { Readable } from 'node:stream';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Asked {
  readonly method: Method;
  /** With its query: `/v1/costs?team=red`. */
  readonly path: string;
  /** The body: a JSON value, or the bytes of a file. */
  readonly json?: unknown;
  readonly stream?: Readable;
  /** Sent without a key: the route is open, and tells no more than everybody may know. */
  readonly isOpen?: boolean;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

export interface Transport {
  /** The name of the other side in sentences. */
  readonly name: string;
  /** Whether it keeps a log in which a request is found by its id. */
  readonly hasLog: boolean;
  /** @throws Failure unavailable if there is no answer */
  ask(asked: Asked): Promise<Answered>;
}
