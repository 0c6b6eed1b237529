/**
 * What a caller reads when something is wrong: problem+json (RFC 9457) that names every problem.
 *
 * Never shows internals: an unexpected error is logged under the request's id and answered with that id alone.
 */
import {
  Catch,
  HttpException,
  Logger,
  StandardSchemaValidationPipe,
  type ArgumentMetadata,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { Failure, invalid, UnderWay, type FailureKind, type Problem } from '../core/errors.js';
import { textProblems } from './json.js';
import './plain-words.js';
import { SCIM_BASE, SCIM_MEDIA, scimError, ScimProblem, type ScimType } from './scim/problem.js';

const STATUS: Readonly<Record<FailureKind, number>> = {
  invalid: 400,
  missing: 404,
  conflict: 409,
  denied: 403,
  unavailable: 503,
};

export const problemSchema = z
  .strictObject({
    type: z.string().describe('Kind of the problem, as an address in the documentation'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().describe('The address that was requested'),
    requestId: z.string().describe('As in the header x-request-id'),
    problems: z.array(
      z.strictObject({ path: z.string().nullable().describe('Where; null for the whole'), message: z.string() }),
    ),
    quote: z
      .strictObject({ unpriced: z.string(), message: z.string(), close: z.array(z.string()).readonly() })
      .optional()
      .describe('For a quote without a price: why, and which known SKUs or providers come close'),
  })
  .meta({ id: 'Problem', description: 'RFC 9457' });

type ProblemDocument = z.infer<typeof problemSchema>;

/** An error that is only a status: 401, 413, 415. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly statusCode: number,
    message: string,
    /** When to try again; null: a retry would not help. */
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(message);
  }
}

/** There is no quote: the reason as a code, and what comes close. */
export class Unquoted extends Failure {
  constructor(
    readonly quote: { readonly unpriced: string; readonly message: string; readonly close: readonly string[] },
  ) {
    super(
      'missing',
      quote.message,
      quote.close.map((name) => ({ path: quote.unpriced, message: `${name} is known` })),
    );
  }
}

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

/** A schema's issues as problems; each unknown field is a problem of its own. */
export function problemsOf(issues: readonly SchemaIssue[]): Problem[] {
  return issues.flatMap((issue) => {
    const path = (issue.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step));
    if ('keys' in issue && Array.isArray(issue.keys)) {
      return issue.keys.map((key) => ({ path: [...path, String(key)].join('/'), message: 'is not a known field' }));
    }
    return [{ path: path.length === 0 ? null : path.join('/'), message: issue.message }];
  });
}

/** The list has at most so many problems; the total is stated. */
const MOST_PROBLEMS = 1000;

export function invalidRequest(problems: readonly Problem[]): Failure {
  const beyond = problems.length > MOST_PROBLEMS ? `; the first ${MOST_PROBLEMS} are listed` : '';
  return invalid(`the request has ${problems.length} problem(s)${beyond}`, problems.slice(0, MOST_PROBLEMS));
}

class Validation extends StandardSchemaValidationPipe {
  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    if (metadata.schema === undefined) return value;
    // A body's texts were checked when it was read; addresses are short.
    const problems = metadata.type === 'body' ? [] : textProblems(value);
    if (problems.length > 0)
      throw invalid(
        `the request has ${problems.length} problem(s)`,
        problems.map(({ path, message }) => ({ path: path ?? metadata.data ?? null, message })),
      );
    return super.transform(value, metadata).catch((error: unknown) => {
      // A part of the path has a name.
      if (!(error instanceof Failure) || metadata.data === undefined) throw error;
      throw invalid(
        error.message,
        error.problems.map(({ path, message }) => ({ path: path ?? metadata.data ?? null, message })),
      );
    });
  }

  /**
   * Nest's own walk takes seconds of processor for a large body. Its threat cannot occur here: a body that names
   * `__proto__` was refused, and schemas make new objects of the fields that they know.
   */
  protected override stripProtoKeys(): void {}
}

/** Validates what a parameter's schema describes; the error names every problem. */
export const validation = new Validation({ exceptionFactory: (issues) => invalidRequest(problemsOf(issues)) });

/** What a caller may know of an error: its status, a sentence and its problems. Null: it was not expected. */
function knownFailure(error: unknown): { status: number; detail: string; problems: readonly Problem[] } | null {
  if (error instanceof Failure) return { status: STATUS[error.kind], detail: error.message, problems: error.problems };
  if (error instanceof ScimProblem) return { status: error.status, detail: error.message, problems: [] };
  if (error instanceof HttpException) return { status: error.getStatus(), detail: error.message, problems: [] };
  // Fastify's own refusals (a bad length, a URL that cannot be decoded) carry a status.
  if (
    error instanceof Error &&
    'statusCode' in error &&
    typeof error.statusCode === 'number' &&
    error.statusCode >= 400 &&
    error.statusCode < 500
  ) {
    return { status: error.statusCode, detail: error.message, problems: [] };
  }
  return null;
}

@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('web');

  /** @param showsAll the caller runs this process: causes are shown, not logged */
  constructor(private readonly showsAll = false) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const address = request.url.split('?', 1)[0] ?? '/';
    const known =
      request.is404 && error instanceof HttpException
        ? {
            status: 404,
            detail: `there is nothing at ${request.method} ${address}: /docs lists what there is`,
            problems: [],
          }
        : knownFailure(error);
    if (!this.showsAll && (known === null || known.status >= 500)) this.log(request, error);
    if (!this.showsAll) request.server.refusals.noteError(request, error);
    const { status, detail, problems } = known ?? {
      status: 500,
      detail: this.showsAll ? textOf(error) : 'something went wrong; the log has the details under the request id',
      problems: [],
    };
    const document: ProblemDocument = {
      type: `/docs#status-${status}`,
      title: STATUS_CODES[status] ?? 'Error',
      status,
      // The cause of an outage names hosts; it is in the log.
      detail:
        status === 503 && !this.showsAll ? 'a part that this request needs cannot be reached: try again later' : detail,
      instance: address,
      requestId: request.id,
      problems: problems.map(({ path, message }) => ({ path, message })),
      ...(error instanceof Unquoted ? { quote: error.quote } : {}),
    };
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    if (status === 503) reply.header('retry-after', '5');
    const wait = error instanceof Refusal || error instanceof UnderWay ? error.retryAfterSeconds : null;
    if (wait !== null) reply.header('retry-after', String(wait));
    if (document.instance.startsWith(`${SCIM_BASE}/`)) {
      const sentences = [document.detail, ...problems.map(({ path, message }) => `${path ?? ''} ${message}`.trim())];
      return void reply
        .status(status)
        .header('content-type', `${SCIM_MEDIA}; charset=utf-8`)
        .send(scimError(status, sentences.join('; ').slice(0, 2000), scimTypeOf(error)));
    }
    reply
      .status(status)
      .header('content-type', 'application/problem+json; charset=utf-8')
      .send(JSON.stringify(document));
  }

  private log(request: FastifyRequest, error: unknown): void {
    this.logger.error(`${request.id} ${request.method} ${request.routeOptions.url ?? '(no route)'}: ${textOf(error)}`);
  }
}

function scimTypeOf(error: unknown): ScimType | null {
  if (error instanceof ScimProblem) return error.scimType;
  if (!(error instanceof Failure)) return null;
  return error.kind === 'conflict' ? 'uniqueness' : error.kind === 'invalid' ? 'invalidValue' : null;
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
