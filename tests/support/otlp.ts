/**
 * A receiver of OTLP over HTTP in JSON, and the spans that came (opentelemetry.io, "OTLP Specification":
 * ExportTraceServiceRequest).
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Attribute {
  key: string;
  value: {
    stringValue?: string;
    intValue?: string | number;
    boolValue?: boolean;
    arrayValue?: { values: { stringValue?: string }[] };
  };
}
interface RawSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attribute[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}
interface Body {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { scope: { name: string }; spans: RawSpan[] }[];
  }[];
}

export interface SeenSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Null: it has none. */
  readonly parent: string | null;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly scope: string;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly links: readonly { traceId: string; spanId: string }[];
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

const valueOf = ({ value }: Attribute): unknown =>
  value.stringValue ??
  (value.intValue === undefined ? undefined : Number(value.intValue)) ??
  value.boolValue ??
  value.arrayValue?.values.map((one) => one.stringValue);
const read = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map((one) => [one.key, valueOf(one)]));

export class OtlpReceiver {
  readonly spans: SeenSpan[] = [];
  /** Everything that came, as it came. */
  text = '';
  private constructor(private readonly server: Server) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('request', (request, response) => {
      let body = '';
      request
        .setEncoding('utf8')
        .on('data', (part: string) => (body += part))
        .on('end', () => {
          if (request.method === 'POST' && request.url === '/v1/traces') receiver.take(body);
          response
            .writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' })
            .end('{}');
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** @throws where there is none, or more than one */
  one(name: string): SeenSpan {
    const [found, ...more] = this.spans.filter((span) => span.name === name);
    if (found === undefined || more.length > 0)
      throw new Error(
        `${found === undefined ? 'no' : more.length + 1} span(s) ${name} among ${this.spans.map((span) => span.name).join(', ')}`,
      );
    return found;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => void this.server.close(() => resolve()));
  }

  private take(body: string): void {
    this.text += body;
    for (const { resource, scopeSpans } of (JSON.parse(body) as Body).resourceSpans) {
      for (const { scope, spans } of scopeSpans) {
        this.spans.push(
          ...spans.map(({ traceId, spanId, parentSpanId, name, kind, attributes, links = [], status }) => ({
            traceId,
            spanId,
            parent: parentSpanId === undefined || parentSpanId === '' ? null : parentSpanId,
            name,
            kind: KINDS[kind] ?? 'internal',
            scope: scope.name,
            failed: status?.code === 2,
            attributes: read(attributes),
            resource: read(resource.attributes),
            links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
          })),
        );
      }
    }
  }
}
