/** /healthz, /readyz and /metrics: what an orchestrator and a Prometheus ask a process. Open, and without anybody's costs. */
import { Controller, Header, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../../store/keys.js';
import { parseSpendQuery } from '../../store/spend.js';
import { Endpoint } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';

const liveSchema = z.strictObject({ status: z.literal('live') });
const readySchema = z.strictObject({
  status: z.enum(['ready', 'not-ready']), database: z.boolean(), migrated: z.boolean(),
  queueAgeSeconds: z.number().nullable().describe('Since the oldest due work was woken; null where none is due'),
}).meta({ id: 'Readiness', description: 'With status 503 where it is not ready' });

/** Prometheus text exposition format 0.0.4. */
const METRICS_MEDIA = 'text/plain; version=0.0.4; charset=utf-8';

type Sample = readonly [labels: Readonly<Record<string, string>>, value: string];

/** A metric in the text format: backslash, quote and line feed are escaped in label values. */
function metric(name: string, help: string, samples: readonly Sample[]): string {
  const escape = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  const lines = samples.map(([labels, value]) => {
    const text = Object.entries(labels).map(([key, label]) => `${key}="${escape(label)}"`).join(',');
    return `${name}${text === '' ? '' : `{${text}}`} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`;
}

@Controller()
export class ProcessController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /healthz', { summary: 'Is the process live?', access: 'open', answer: liveSchema })
  live(): z.infer<typeof liveSchema> {
    return { status: 'live' };
  }

  @Endpoint('GET /readyz', { summary: 'Is it ready to be asked?', access: 'open', answer: readySchema })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<z.infer<typeof readySchema>> {
    const readiness = await this.parts.stores.health.readiness(this.parts.clock.now());
    const ready = readiness.database && readiness.migrated;
    if (!ready) reply.status(503);
    return { status: ready ? 'ready' : 'not-ready', ...readiness };
  }

  @Endpoint('GET /metrics', {
    summary: 'Metrics as Prometheus text', description: 'Work for everybody; spend of the teams that the key may see, where there is one.', access: 'open', answer: { media: 'text/plain' },
  })
  @Header('content-type', METRICS_MEDIA)
  async metrics(@Req() request: FastifyRequest): Promise<string> {
    const { health } = this.parts.stores;
    const { queueAgeSeconds } = await health.readiness(this.parts.clock.now());
    const load = await health.load();
    return [
      metric('bursar_work_waiting', 'Keys that wait to be worked on.', load.map(({ stage, waiting }) => [{ stage }, String(waiting)])),
      metric('bursar_work_parked', 'Keys that failed too often.', load.map(({ stage, parked }) => [{ stage }, String(parked)])),
      metric('bursar_work_age_seconds', 'Since the oldest due work was woken.', [[{}, String(queueAgeSeconds ?? 0)]]),
      ...(request.principal === null ? [] : await this.spend(request.principal)),
    ].join('');
  }

  /** Spend of the running month, as of the end of what is known. */
  private async spend({ organisation, teams }: Principal): Promise<string[]> {
    const { stores, clock } = this.parts;
    const asOf = await stores.organisations.asOf(stores.db, organisation, clock.now());
    const from = new Date(asOf).toISOString().slice(0, 7);
    const { fx } = await stores.prices.book(stores.db, organisation);
    const { rows } = await stores.spend.spend(organisation, parseSpendQuery({ from, groupBy: 'team', teams }), fx);
    const labels = (row: (typeof rows)[number]): Record<string, string> => ({ team: row['team'] ?? '', currency: row.currency });
    return [
      metric('bursar_spend_month', 'Actual cost of the running month (UTC).', rows.flatMap((row): Sample[] => (row.cost === null ? [] : [[labels(row), row.cost]]))),
      metric('bursar_unpriced_gpu_hours_month', 'GPU-hours of the running month that have no price.', rows.map((row) => [labels(row), row.unpricedQuantity])),
    ];
  }
}
