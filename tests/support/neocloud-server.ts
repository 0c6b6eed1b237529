/**
 * A neocloud on this machine that keeps a small state: it takes what its OpenAPI document has, from who has a key, and
 * holds every request and every answer of its own against that document.
 *
 * It never guesses: a request that the document does not have is a problem and is answered with 404. What a test
 * scripts is answered as it is, and held against nothing.
 */
import { ScriptedServer, type Scripted } from '../contract/scripted-server.js';
import { OpenApiDocument, type Recognised } from './openapi-document.js';

export const KEYS = { read: 'key-reading-7f3a', act: 'key-acting-91cc' } as const;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}
/** What an operation answers, and does. */
export type Handlers = Readonly<Record<string, (request: Recognised) => Answer>>;

export interface Came extends Recognised {
  readonly key: string;
}

export class NeocloudServer {
  readonly came: Came[] = [];
  readonly problems: string[] = [];
  /** How often something was changed: the truth. */
  changes = 0;
  private readonly scripts = new Map<string, Scripted[]>();
  private losing: 'answer' | 'request' | null = null;

  private constructor(
    private readonly document: OpenApiDocument,
    private readonly handlers: Handlers,
    /** A failure as this cloud words it. */
    private readonly failure: (status: number) => unknown,
  ) {}

  server!: ScriptedServer;

  static async start(name: string, handlers: Handlers, failure: (status: number) => unknown): Promise<NeocloudServer> {
    const cloud = new NeocloudServer(new OpenApiDocument(name), handlers, failure);
    cloud.server = await ScriptedServer.start((asked) => cloud.answer(asked));
    return cloud;
  }

  get url(): string {
    return this.server.url;
  }

  /** Answers the next requests of an operation with these, and then as it is. */
  script(id: string, ...answers: Scripted[]): void {
    this.scripts.set(id, [...(this.scripts.get(id) ?? []), ...answers]);
  }

  /** The next request that acts breaks off. @param arrives whether it takes hold all the same */
  loseNextAnswer(arrives: boolean): void {
    this.losing = arrives ? 'answer' : 'request';
  }

  of(id: string): Came[] {
    return this.came.filter((one) => one.id === id);
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  private answer({ method, url, headers, body }: ScriptedServer['asked'][number]): Scripted {
    const request = this.document.recognise(method, url, body);
    if (request === null) {
      this.problems.push(`${method} ${url} is no request of the document`);
      return { status: 404, body: this.failure(404) };
    }
    const key = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    this.came.push({ ...request, key });
    this.problems.push(...request.problems);
    const acts = method !== 'GET';
    if (acts && key === KEYS.read) this.problems.push(`${request.id} came with the key for reading`);
    if (!acts && key === KEYS.act) this.problems.push(`${request.id} came with the key for acting`);
    const scripted = this.scripts.get(request.id)?.shift();
    if (scripted !== undefined) return scripted;
    if (key !== KEYS.read && key !== KEYS.act) return { status: 401, body: this.failure(401) };
    const losing = acts ? this.losing : null;
    if (losing !== null) this.losing = null;
    if (losing === 'request') return { instead: 'drop' };
    const { status, body: reply } = this.handlers[request.id]?.(request) ?? { status: 404, body: this.failure(404) };
    if (acts && status < 300) this.changes += 1;
    this.problems.push(...this.document.problemsOfReply(request.id, status, reply));
    return losing === 'answer' ? { instead: 'drop' } : { status, body: reply === null ? '' : reply };
  }
}
