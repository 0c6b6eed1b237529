/**
 * Prometheus' HTTP API (prometheus.io, "HTTP API"): instant and range queries, as series.
 *
 * Sends forms by POST, as the page advises for long queries. Never puts credentials or a whole address into an error. A
 * partial answer is an answer with warnings. The statuses: 400 and 422 are the query's fault, 401 and 403 a permission,
 * everything else may pass.
 */
import { z } from 'zod';
import { denied, invalid, unavailable, type Failure } from '../../core/errors.js';
import type { Series } from './series.js';

const TIMEOUT_MS = 20_000;
const MOST_REASON = 500;

const point = z.tuple([z.number(), z.string()]);
const labels = z.record(z.string(), z.string());
const answerSchema = z.object({
  status: z.literal('success'),
  warnings: z.array(z.string()).default([]),
  data: z.discriminatedUnion('resultType', [
    z.object({
      resultType: z.literal('matrix'),
      result: z.array(z.object({ metric: labels, values: z.array(point).default([]) })),
    }),
    z.object({
      resultType: z.literal('vector'),
      result: z.array(z.object({ metric: labels, value: point.optional() })),
    }),
    z.object({ resultType: z.literal('scalar'), result: point }),
  ]),
});
const errorSchema = z.object({
  status: z.literal('error'),
  errorType: z.string().default(''),
  error: z.string().default(''),
});

export interface PrometheusAnswer {
  readonly series: readonly Series[];
  readonly warnings: readonly string[];
}

export class PrometheusApi {
  /** @param address up to and without `/api/v1` */
  constructor(
    private readonly address: string,
    private readonly authorization: string | null,
  ) {}

  /** Values at `from`, `from + step`, ... up to `to`, epoch milliseconds. */
  range(query: string, from: number, to: number, stepMs: number): Promise<PrometheusAnswer> {
    return this.ask('query_range', { query, start: seconds(from), end: seconds(to), step: seconds(stepMs) });
  }

  /** Values at one instant, epoch milliseconds. */
  instant(query: string, at: number): Promise<PrometheusAnswer> {
    return this.ask('query', { query, time: seconds(at) });
  }

  private async ask(endpoint: string, form: Readonly<Record<string, string>>): Promise<PrometheusAnswer> {
    const { status, text } = await this.post(endpoint, form);
    const body = jsonOf(text);
    if (status < 200 || status > 299) throw failureOf(status, body);
    const parsed = answerSchema.safeParse(body);
    if (!parsed.success)
      throw invalid(`what answers at ${this.host} is not Prometheus' HTTP API: ${endpoint} gave something else`);
    const { data, warnings } = parsed.data;
    return { series: seriesOf(data), warnings: warnings.map((warning) => warning.slice(0, MOST_REASON)) };
  }

  private get host(): string {
    return new URL(this.address).host;
  }

  private async post(
    endpoint: string,
    form: Readonly<Record<string, string>>,
  ): Promise<{ status: number; text: string }> {
    try {
      const response = await fetch(`${this.address}/api/v1/${endpoint}`, {
        method: 'POST',
        body: new URLSearchParams(form),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: this.authorization === null ? {} : { authorization: this.authorization },
      });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      const reason =
        cause instanceof Error && cause.name === 'TimeoutError'
          ? `no answer within ${TIMEOUT_MS / 1000} seconds`
          : 'it cannot be reached';
      throw unavailable(`Prometheus at ${this.host}: ${reason}`, cause);
    }
  }
}

const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(3);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function seriesOf(data: z.infer<typeof answerSchema>['data']): Series[] {
  if (data.resultType === 'scalar') return [{ labels: {}, points: [data.result] }];
  if (data.resultType === 'matrix')
    return data.result.map(({ metric, values }) => ({ labels: metric, points: values }));
  return data.result.map(({ metric, value }) => ({ labels: metric, points: value === undefined ? [] : [value] }));
}

function failureOf(status: number, body: unknown): Failure {
  const said = errorSchema.safeParse(body);
  const reason = said.success ? `${said.data.errorType}: ${said.data.error}`.slice(0, MOST_REASON) : 'no reason given';
  if (status === 401 || status === 403)
    return denied(
      `Prometheus refuses the query (HTTP ${status}): it needs BURSAR_PROMETHEUS_TOKEN, or BURSAR_PROMETHEUS_USER and BURSAR_PROMETHEUS_PASSWORD, that may query`,
    );
  if (status === 400 || status === 404 || status === 405 || status === 422)
    return invalid(`Prometheus cannot answer the query (HTTP ${status}): ${reason}`);
  return unavailable(`Prometheus did not answer the query (HTTP ${status}): ${reason}`);
}
