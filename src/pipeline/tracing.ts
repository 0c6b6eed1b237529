/**
 * Spans of the line: one for each run of a stage, linked to the span that enqueued it, and below it one for each call
 * of a provider. If no tracing was started the API does nothing, and so does this file. Spans contain names (stage,
 * partition, keys, connection, operation, kind of effect) and kinds of failures; never a message of a provider, a token
 * or a credential.
 */
import { context, SpanKind, SpanStatusCode, trace, type Attributes, type Link, type Span } from '@opentelemetry/api';
import { Failure } from '../core/errors.js';
import type { ProviderConnection } from '../core/ports.js';
import { enqueuedIn, type ClaimedWork, type DuePartition } from '../store/work.js';

/** A run may take thousands of keys. */
const MOST_KEYS = 50;

/** Runs a stage's work in its own span without a parent, because the enqueuing code has long finished. */
export function tracedRun<T>(
  { organisation, stage, partition }: Omit<DuePartition, 'due'>,
  claimed: readonly ClaimedWork[],
  work: () => Promise<T>,
): Promise<T> {
  const links: Link[] = [...new Set(claimed.map(({ traceparent }) => traceparent))]
    .flatMap((traceparent) => enqueuedIn(traceparent) ?? [])
    .map((from) => ({ context: from }));
  const attributes = {
    'bursar.organisation': organisation,
    'bursar.stage': stage,
    'bursar.partition': partition,
    'bursar.keys': claimed.slice(0, MOST_KEYS).map(({ key }) => key),
    'bursar.key_count': claimed.length,
  };
  return trace
    .getTracer('bursar.line')
    .startActiveSpan(stage, { kind: SpanKind.CONSUMER, root: true, attributes, links }, (span) => ended(span, work));
}

async function ended<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    failed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function failed(span: Span, error: unknown): void {
  const code =
    typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
      ? error.code
      : null;
  span
    .setStatus({ code: SpanStatusCode.ERROR })
    .setAttribute(
      'error.type',
      error instanceof Failure ? error.kind : (code ?? (error instanceof Error ? error.name : 'unknown')),
    );
}

const ITERATED: readonly string[] = ['prices', 'usage', 'bill', 'spotHistory'] satisfies (keyof ProviderConnection)[];
const AWAITED: readonly string[] = [
  'offers',
  'fleet',
  'target',
  'apply',
  'outcome',
  'granted',
] satisfies (keyof ProviderConnection)[];

/** The same connection, with a client span for every call. */
export function tracedConnection(connection: ProviderConnection): ProviderConnection {
  return new Proxy(connection, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      const call = (...given: readonly unknown[]): unknown => Reflect.apply(member, target, given);
      if (AWAITED.includes(name))
        return (...given: readonly unknown[]) =>
          traced(target, name, given, async (span) => noted(span, await call(...given)));
      return ITERATED.includes(name)
        ? (...given: readonly unknown[]) => tracedPages(target, name, () => call(...given) as AsyncIterable<unknown>)
        : call;
    },
  });
}

function attributesOf(
  { name: connection }: ProviderConnection,
  operation: string,
  given: readonly unknown[],
): Attributes {
  const [effect] = given;
  const kind =
    (operation === 'apply' || operation === 'outcome') &&
    typeof effect === 'object' &&
    effect !== null &&
    'kind' in effect
      ? String(effect.kind)
      : null;
  return {
    'bursar.connection': connection,
    'bursar.operation': operation,
    ...(kind === null ? {} : { 'bursar.effect': kind }),
  };
}

const startSpan = (connection: ProviderConnection, operation: string, given: readonly unknown[]): Span =>
  trace
    .getTracer('bursar.providers')
    .startSpan(`${connection.name} ${operation}`, {
      kind: SpanKind.CLIENT,
      attributes: attributesOf(connection, operation, given),
    });

function traced<T>(
  connection: ProviderConnection,
  operation: string,
  given: readonly unknown[],
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = startSpan(connection, operation, given);
  return context.with(trace.setSpan(context.active(), span), () => ended(span, () => work(span)));
}

/** Records a provider's answer about an effect: `taken`, `refused`, `unknown`. */
function noted<T>(span: Span, answer: T): T {
  if (typeof answer === 'object' && answer !== null && 'kind' in answer && 'detail' in answer)
    span.setAttribute('bursar.outcome', String(answer.kind));
  return answer;
}

/** One span from the first requested page to the last, at any pace of the reader. */
async function* tracedPages(
  connection: ProviderConnection,
  operation: string,
  open: () => AsyncIterable<unknown>,
): AsyncGenerator<unknown> {
  const span = startSpan(connection, operation, []);
  const inside = trace.setSpan(context.active(), span);
  let pages = 0;
  let iterator: AsyncIterator<unknown> | null = null;
  try {
    const opened = (iterator = context.with(inside, () => open()[Symbol.asyncIterator]()));
    for (
      let step = await context.with(inside, () => opened.next());
      step.done !== true;
      step = await context.with(inside, () => opened.next())
    ) {
      pages += 1;
      yield step.value;
    }
  } catch (error) {
    failed(span, error);
    throw error;
  } finally {
    await iterator?.return?.();
    span.setAttribute('bursar.pages', pages).end();
  }
}
