/** /healthz, /readyz and /metrics: for an orchestrator and Prometheus. Open, and without anybody's costs. */
import { Controller, Header, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { formatInstant } from '../../core/time.js';
import { Endpoint } from '../endpoint.js';
import { METRICS_MEDIA, metricsText } from '../metrics.js';
import { InjectParts, type WebParts } from '../parts.js';

const liveSchema = z.strictObject({ status: z.literal('live') });
const readySchema = z
  .strictObject({
    status: z.enum(['ready', 'not-ready']),
    database: z.boolean(),
    migrated: z.boolean(),
    failing: z
      .array(z.strictObject({ name: z.string(), since: z.iso.datetime(), failures: z.int() }))
      .describe('Parts of the tick of this process that keep failing; the log has the reasons'),
    queueAgeSeconds: z.number().nullable().describe('Time since the oldest due work was enqueued; null if none is due'),
  })
  .meta({ id: 'Readiness', description: 'With status 503 where it is not ready' });

@Controller()
export class ProcessController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /healthz', { summary: 'Is the process live?', access: 'open', isProbe: true, answer: liveSchema })
  live(): z.infer<typeof liveSchema> {
    return { status: 'live' };
  }

  @Endpoint('GET /readyz', { summary: 'Is it ready for requests?', access: 'open', isProbe: true, answer: readySchema })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<z.infer<typeof readySchema>> {
    const readiness = await this.parts.stores.health.readiness(this.parts.clock.now());
    const failing = (this.parts.tick?.stuck ?? []).map(({ name, since, failures }) => ({
      name,
      since: formatInstant(since),
      failures,
    }));
    const ready = readiness.database && readiness.migrated && failing.length === 0;
    if (!ready) reply.status(503);
    return { status: ready ? 'ready' : 'not-ready', ...readiness, failing };
  }

  @Endpoint('GET /metrics', {
    summary: 'Metrics as Prometheus text',
    description:
      'Everybody gets the metrics of the work; a key also gets money, budgets and actions of the teams that it may see.',
    access: 'open',
    answer: {
      media: 'text/plain',
      example: '# TYPE bursar_work_waiting gauge\nbursar_work_waiting{stage="cost.price"} 0\n',
    },
  })
  @Header('content-type', METRICS_MEDIA)
  async metrics(@Req() request: FastifyRequest): Promise<string> {
    return metricsText(this.parts, request.principal);
  }
}
